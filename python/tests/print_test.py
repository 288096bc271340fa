"""What a run prints, and what it asserts."""

import sys

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def session():
    with rd.Graph().as_default(), rd.Session() as made:
        yield made


def test_Print(session, capfd):
    x = rd.constant([[1, 2], [3, 4]])
    y = rd.Print(x, [x, "of shape", rd.shape(x)], "x: ", first_n=2, summarize=3)
    for _ in range(3):
        assert session.run(y).tolist() == [[1, 2], [3, 4]]
    line = "x: [1 2 3...]of shape[2 2]\n"
    assert capfd.readouterr().err == line * 2
    with pytest.raises(rd.InvalidArgumentError, match="data must be a list"):
        rd.Print(x, x)


def test_Print_has_a_gradient(session, capfd):
    x = rd.constant(3.0)
    (dx,) = rd.gradients(rd.Print(x, [x]) ** 2, x)
    assert session.run(dx) == 6
    assert capfd.readouterr().err == "[3]\n"


def test_print(session, capfd):
    x = rd.constant(np.arange(20).reshape(2, 10))
    op = rd.print("x =", x, {"a": 1}, [x[0, 1], 2], summarize=2)
    assert isinstance(op, rd.Operation)
    assert session.run(op) is None
    want = "x = [[0 1 ... 8 9]\n [10 11 ... 18 19]] {'a': 1} [1 2]\n"
    assert capfd.readouterr().err == want
    session.run(rd.print(x[0], sep="", end="!\n", summarize=-1))
    assert capfd.readouterr().err == "[0 1 2 3 4 5 6 7 8 9]!\n"
    session.run(rd.print("out", output_stream=sys.stdout))
    assert capfd.readouterr().out == "out\n"
    session.run(rd.print())
    assert capfd.readouterr().err == "\n"
    with pytest.raises(rd.InvalidArgumentError, match="output_stream"):
        rd.print("x", output_stream="elsewhere")


def test_print_of_every_type(session, capfd):
    values = [np.array([0, 1]).astype(t) for t in ("f8", "f2", "i8", "i1", "u1", "?")]
    session.run(rd.print(*[rd.constant(v) for v in values]))
    want = "[0 1] [0 1] [0 1] [0 1] [0 1] [false true]\n"
    assert capfd.readouterr().err == want


def test_Assert(session):
    ok = rd.placeholder(rd.bool, [])
    x = rd.constant([1.5, 2.5, 3.5])
    check = rd.Assert(ok, ["x is", x, "not good"], summarize=2, name="check")
    with rd.control_dependencies([check]):
        y = rd.identity(x)
    assert session.run(y, {ok: True}).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(rd.InvalidArgumentError) as failed:
        session.run(y, {ok: False})
    text = str(failed.value)
    assert text.startswith('Assert "check" (')
    assert __file__ in text
    assert text.endswith("assertion failed: x is [1.5 2.5...] not good")
    assert session.run(y, {ok: True}).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(rd.InvalidArgumentError, match="condition has rank 1"):
        rd.Assert([True], [])
    with pytest.raises(rd.InvalidArgumentError, match="data must be a list"):
        rd.Assert(True, x)


X = np.array([1.0, 2.0, 3.0], np.float32)
FAILURES = {
    "assert_equal": lambda x: rd.assert_equal(x, X + [0, 0, 1]),
    "assert_none_equal": lambda x: rd.assert_none_equal(x, [0, 2, 0]),
    "assert_less": lambda x: rd.assert_less(x, [2, 3, 3]),
    "assert_less_equal": lambda x: rd.assert_less_equal(x, 2.0),
    "assert_greater": lambda x: rd.assert_greater(x, 1.0),
    "assert_greater_equal": lambda x: rd.assert_greater_equal(x, 2),
    "assert_near": lambda x: rd.assert_near(x, X + np.float32(0.01)),
    "assert_positive": lambda x: rd.assert_positive(x - 1),
    "assert_negative": lambda x: rd.assert_negative(x - 3),
    "assert_non_negative": lambda x: rd.assert_non_negative(x - 2),
    "assert_non_positive": lambda x: rd.assert_non_positive(x - 2),
}


@pytest.mark.parametrize("name", FAILURES)
def test_assertions_fail(session, name):
    x = rd.placeholder(rd.float32, [None], name="x")
    check = FAILURES[name](x)
    with pytest.raises(rd.InvalidArgumentError, match="every element: .* = \\["):
        session.run(check, {x: X})


def test_messages(session):
    bad = rd.assert_equal(1, 2, message="so much", name="mine")
    with pytest.raises(rd.Error, match='"mine".*so much: x == y does not hold'):
        session.run(bad)
    with pytest.raises(rd.Error, match="failed: the data is \\[5\\]"):
        session.run(rd.assert_equal(1, 2, data=["the data is", 5]))


def test_ranks(session):
    x = rd.placeholder(rd.float32, [None, 3])
    session.run([rd.assert_rank(x, 2), rd.assert_rank_at_least(x, 2)])
    with pytest.raises(rd.InvalidArgumentError, match="m: the rank of .* is not 1"):
        rd.assert_rank(x, 1, message="m")
    with pytest.raises(rd.InvalidArgumentError, match="is not 3 or more"):
        rd.assert_rank_at_least(x, 3)
    with pytest.raises(rd.InvalidArgumentError, match="is not 1 or 3"):
        rd.assert_rank_in(x, [1, 3])
    with pytest.raises(rd.InvalidArgumentError, match="is not 0"):
        rd.assert_scalar(x)
    unknown = rd.placeholder(rd.float32)
    checks = {
        rd.assert_rank(unknown, 1): "is not 1: its shape is \\[1 1\\]",
        rd.assert_rank_at_least(unknown, 3): "is not 3 or more",
        rd.assert_rank_in(unknown, [0, 1]): "is not 0 or 1",
    }
    for check, text in checks.items():
        with pytest.raises(rd.InvalidArgumentError, match=text):
            session.run(check, {unknown: np.zeros((1, 1))})
    session.run(list(checks)[0], {unknown: [1]})
    session.run(list(checks)[2], {unknown: 1})


def test_types():
    x = rd.placeholder(rd.float32, [2])
    rd.assert_type(x, rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="expected int32"):
        rd.assert_type(x, rd.int32)
    with pytest.raises(rd.InvalidArgumentError, match="expected an integer type"):
        rd.assert_integer(x)
    with pytest.raises(rd.InvalidArgumentError, match="expected a floating-point"):
        rd.assert_near(1, 1)


def test_in_a_branch_that_is_not_taken(session):
    p = rd.placeholder(rd.bool, [])

    def checked():
        with rd.control_dependencies([rd.Assert(rd.constant(False), ["taken"])]):
            return rd.constant(1)

    y = rd.cond(p, checked, lambda: rd.constant(2))
    assert session.run(y, {p: False}) == 2
    with pytest.raises(rd.Error, match="taken"):
        session.run(y, {p: True})
