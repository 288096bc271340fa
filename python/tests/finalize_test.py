"""A graph that is finalized takes nothing more, from whomever."""

import pytest

import rondo as rd


def other_graph():
    with rd.Graph().as_default():
        rd.constant(1, name="other")
        return rd.train.export_meta_graph()


ADDS = {
    "constant": lambda x: rd.constant(1),
    "operation": lambda x: x + x,
    "variable": lambda x: rd.Variable(1.0),
    "gradient": lambda x: rd.gradients(x, [x]),
    "cond": lambda x: rd.cond(x > 0, lambda: x, lambda: x),
    "cond of a tensor": lambda x: rd.cond(
        rd.get_default_graph().get_tensor_by_name("holds:0"), lambda: x, lambda: x
    ),
    "while_loop": lambda x: rd.while_loop(lambda y: True, lambda y: y, [x]),
    "py_func": lambda x: rd.py_func(lambda: 1.0, [], rd.float32),
    "custom_gradient": lambda x: rd.custom_gradient(lambda y: (y, lambda d: d))(x),
    "queue": lambda x: rd.FIFOQueue(1, [rd.float32]),
    "saver": lambda x: rd.train.Saver(),
    "saved graph": lambda x: rd.train.import_meta_graph(other_graph()),
}


@pytest.mark.parametrize("name", ADDS)
def test_nothing_is_added(name, graph):
    x = rd.placeholder(rd.float32, [])
    rd.placeholder(rd.bool, [], name="holds")
    rd.Variable(1.0)
    graph.finalize()
    before = len(graph.get_operations())
    with pytest.raises(RuntimeError, match="finalized"):
        ADDS[name](x)
    assert len(graph.get_operations()) == before
