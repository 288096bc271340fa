"""Random numbers: the same seed gives the same numbers on any number of threads."""

from ..framework.build import convert_to_tensor, graph_of, one, shape_tensor
from ..framework.dtypes import as_dtype, float32

# Stands for the graph's seed where only an operation has one.
_NO_GRAPH_SEED = 0x526F6E646F


def _seeds(graph, seed):
    if seed:
        return {"seed": graph.seed or _NO_GRAPH_SEED, "seed2": int(seed)}
    if not graph.seed:
        return {}
    return {"seed": graph.seed, "seed2": len(graph._core) + 1}


def _real(op, shape, dtype, seed, name, **attrs):
    graph = graph_of([shape])
    shape = shape_tensor(shape, graph)
    if any(hasattr(v, "graph") for v in attrs.values()):
        # Numbers that a run computes: a standard distribution, moved and scaled.
        standard = {"mean": 0.0, "stddev": 1.0}
        one_of = _real(op, shape, dtype, seed, name, **standard)
        return one_of * attrs["stddev"] + attrs["mean"]
    attrs = {k: float(v) for k, v in attrs.items()}
    attrs["dtype"] = as_dtype(dtype)
    return one(op, [shape], {**attrs, **_seeds(graph, seed)}, name)


def random_uniform(shape, minval=0, maxval=None, dtype=float32, seed=None, name=None):
    """Numbers of [minval, maxval), each with equal probability. maxval is 1 for
    floating point, and must be given for integers."""
    dtype = as_dtype(dtype)
    if dtype.is_integer:
        graph = graph_of([shape, minval, maxval])
        low = convert_to_tensor(minval, dtype, graph=graph)
        high = convert_to_tensor(maxval, dtype, graph=graph)
        inputs = [shape_tensor(shape, graph), low, high]
        return one("RandomUniformInt", inputs, _seeds(graph, seed), name)
    maxval = 1 if maxval is None else maxval
    if hasattr(minval, "graph") or hasattr(maxval, "graph"):
        unit = _real("RandomUniform", shape, dtype, seed, name, minval=0, maxval=1)
        return unit * (maxval - minval) + minval
    return _real(
        "RandomUniform", shape, dtype, seed, name, minval=minval, maxval=maxval
    )


def random_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Numbers from a normal distribution."""
    return _real("RandomNormal", shape, dtype, seed, name, mean=mean, stddev=stddev)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Numbers from a normal distribution, none further than two standard
    deviations from the mean."""
    return _real("TruncatedNormal", shape, dtype, seed, name, mean=mean, stddev=stddev)


def random_shuffle(value, seed=None, name=None):
    """The slices along the first axis in random order."""
    return one("RandomShuffle", [value], _seeds(graph_of([value]), seed), name)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype="int64"):
    """For each row of logits so many classes, drawn with probability softmax(row)."""
    attrs = {"output_dtype": as_dtype(output_dtype), **_seeds(graph_of([logits]), seed)}
    return one("Multinomial", [logits, num_samples], attrs, name)
