"""run_op: one operation of the registry on NumPy arrays; value: a tensor."""

import numpy as np

import rondo as rd
from rondo import _core

# The operations that tests have compared with something else; what
# coverage_test.py reads.
compared_ops = set()


def compared(graph, *ops):
    """Notes that a test compares what these operations of `graph`, which run_op
    cannot run, computed."""
    graph = getattr(graph, "_core", graph)
    missing = set(ops) - {node.op for node in graph.nodes}
    assert not missing, f"the graph has no {missing}"
    compared_ops.update(ops)


def run_op(op, inputs=(), **attrs):
    """The outputs of operation `op` as a list of arrays.

    Runs it twice where it is a function of its inputs: with inputs that are
    constants of the graph, and with placeholders of which not even the rank is
    known. Both must give the same bits, of the types and shapes that the graph
    said.
    """
    compared_ops.add(op)
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


def value(x, feed=None):
    """A tensor's value in a new session."""
    with rd.Session(graph=x.graph) as session:
        session.run(rd.global_variables_initializer())
        return session.run(x, feed)


def value_list(tensors):
    with rd.Session() as s:
        return s.run(list(tensors))
