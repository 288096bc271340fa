"""Control dependencies, branches and loops."""

import pytest
from graph_ops import value

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_control_dependencies_order_a_run():
    v = rd.Variable(1.0)
    changed = v.assign_add(1.0)
    with rd.control_dependencies([changed]):
        after = v.read_value()
    with rd.Session() as s:
        s.run(v.initializer)
        assert s.run(after) == 2.0
        s.run(rd.group(v.assign(5.0), rd.no_op()))
        assert s.run(v) == 5.0


def test_cond_and_while_loop():
    p = rd.placeholder(rd.bool, [])
    x = rd.constant(3.0)
    y = rd.cond(p, lambda: x * 2.0, lambda: x + 100.0)
    (g,) = rd.gradients(y, x)
    i, total = rd.while_loop(
        lambda i, t: i < 5,
        lambda i, t: (i + 1, t + rd.cast(i, rd.float32) * x),
        (0, 0.0),
    )
    with rd.Session() as s:
        assert s.run([y, g], {p: True}) == [6, 2]
        assert s.run([y, g], {p: False}) == [103, 1]
        assert s.run([i, total]) == [5, 30]

    def broken():
        raise RuntimeError("of the branch")

    with pytest.raises(RuntimeError, match="of the branch"):
        rd.cond(p, broken, lambda: x)
    assert value(rd.constant(2) + 1) == 3  # no branch is left open
