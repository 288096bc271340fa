"""run_op: one operation of the registry on NumPy arrays, for tests."""

import numpy as np

from rondo import _core


def run_op(op, inputs=(), **attrs):
    """The outputs of operation `op` as a list of arrays.

    Runs it twice where it is a function of its inputs: with inputs that are
    constants of the graph, and with placeholders of which not even the rank is
    known. Both must give the same bits, of the types and shapes that the graph
    said.
    """
    inputs = [np.asarray(x) for x in inputs]
    results = run_op_with_constants(op, inputs, **attrs)
    if not _core.operation(op)["stateful"]:
        again = run_op_with_feeds(op, inputs, **attrs)
        assert len(again) == len(results)
        for a, b in zip(results, again, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            assert a.tobytes() == b.tobytes()
    return results


def run_op_with_constants(op, inputs, **attrs):
    graph = _core.Graph()
    values = [graph.add("Const", [], {"value": x}).outputs[0] for x in inputs]
    return _run(graph, op, values, [], attrs)


def run_op_with_feeds(op, inputs, **attrs):
    graph = _core.Graph()
    feeds = [
        (graph.add("Placeholder", [], {"dtype": x.dtype}).outputs[0], x) for x in inputs
    ]
    return _run(graph, op, [value for value, _ in feeds], feeds, attrs)


def _run(graph, op, values, feeds, attrs):
    node = graph.add(op, values, attrs)
    arrays, _ = _core.Session(graph).run(node.outputs, feeds)
    for value, array in zip(node.outputs, arrays, strict=True):
        assert value.dtype == array.dtype, f"{value}: got {array.dtype}"
        if value.shape is not None:
            fits = len(value.shape) == array.ndim and all(
                want in (None, got)
                for want, got in zip(value.shape, array.shape, strict=True)
            )
            assert fits, f"{value}: got {array.shape}"
    return arrays
