"""colocate_with: operations that go where another one is."""

import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


def test_operations_go_where_another_is():
    with rd.device("/job:ps/task:1"):
        w = rd.Variable(rd.zeros([2]), name="w")
    with rd.device("/job:worker"), rd.colocate_with(w):
        a = rd.zeros([2])
        with rd.colocate_with(a):
            b = rd.zeros([3])
    c = rd.zeros([2])
    assert a.op.device == "/job:ps/task:1"
    assert a.op.colocation_groups() == [b"loc:@w"]
    # Beside a is beside w.
    assert b.op.colocation_groups() == [b"loc:@w"]
    assert c.op.device == ""
    assert c.op.colocation_groups() == [f"loc:@{c.op.name}".encode()]


def test_outer_ones_can_be_ignored():
    a = rd.constant(1.0, name="a")
    b = rd.constant(2.0, name="b")
    with rd.colocate_with(a), rd.colocate_with(b):
        both = rd.constant(3.0)
    with rd.colocate_with(a), rd.colocate_with(b, ignore_existing=True):
        one = rd.constant(4.0)
    assert both.op.colocation_groups() == [b"loc:@a", b"loc:@b"]
    assert one.op.colocation_groups() == [b"loc:@b"]


def test_an_operation_of_another_graph_is_refused():
    with rd.Graph().as_default():
        other = rd.constant(1.0)
    with pytest.raises(rd.Error, match="of another graph"):
        with rd.colocate_with(other):
            pass
