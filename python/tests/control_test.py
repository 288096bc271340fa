"""Control dependencies, branches and loops."""

import collections

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


Pair = collections.namedtuple("Pair", "a b")


def test_structures_of_branches():
    x = rd.placeholder(rd.float32, [])
    made = [
        rd.cond(x > 0, lambda: Pair(x, [x * 2]), lambda: Pair(-x, [x * 3])),
        rd.cond(x > 0, lambda: {"b": x, "a": x + 1}, lambda: {"a": x, "b": -x}),
        rd.cond(x > 0, lambda: [x], lambda: (-x,)),  # as TensorFlow 1 has it
        rd.cond(x > 0, lambda: [x], lambda: [-x], strict=True),
    ]
    with rd.Session() as s:
        assert s.run(made, {x: 1}) == [Pair(1, [2]), {"b": 1, "a": 2}, 1, [1]]
        assert s.run(made, {x: -1}) == [Pair(1, [-3]), {"b": 1, "a": -1}, 1, [1]]
    with pytest.raises(rd.InvalidArgumentError, match="the same structure"):
        rd.cond(x > 0, lambda: {"a": x}, lambda: {"b": x})
    with pytest.raises(rd.InvalidArgumentError, match="is not a function"):
        rd.cond(x > 0, x, x)


def test_structures_of_loop_variables():
    x = rd.constant(1.0)
    i, pair, rest = rd.while_loop(
        lambda i, pair, rest: i < 3,
        lambda i, pair, rest: [i + 1, Pair(pair.a * 2, pair.b), {"k": [pair.a]}],
        [0, Pair(x, x + 1), {"k": [x]}],
        shape_invariants=[[], Pair([], []), {"k": [rd.TensorShape([])]}],
    )
    alone = rd.while_loop(lambda i: i < 10, lambda i: i + 1, [0])
    listed = rd.while_loop(
        lambda i: i < 10, lambda i: i + 1, [0], return_same_structure=True
    )
    state = rd.while_loop(
        lambda p: p.b < 9, lambda p: Pair(p.a + 1, p.b * 2), [Pair(x, x)]
    )
    with rd.Session() as s:
        assert s.run([i, pair, rest]) == [3, Pair(8, 2), {"k": [4]}]
        assert s.run([alone, listed, state]) == [10, [10], Pair(5, 16)]
    for body, why in (
        (lambda i, p: [i], "body gives 1 values for 2 loop variables"),
        (lambda i, p: [i, p.a], "of another structure than the loop variables"),
        (lambda i, p: None, "body gives 1 values for 2 loop variables"),
    ):
        with pytest.raises(rd.InvalidArgumentError, match=why):
            rd.while_loop(lambda i, p: i < 3, body, [0, Pair(x, x)])
    with pytest.raises(rd.InvalidArgumentError, match="a shape for each"):
        rd.while_loop(lambda i: i < 3, lambda i: i, [0], [[], []])
