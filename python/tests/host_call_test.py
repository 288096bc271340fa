"""Python functions as operations, and gradients of the program's own."""

import gc
import signal
import subprocess
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest
from graph_ops import compared

import rondo as rd
from rondo import _core


@pytest.fixture(autouse=True)
def session():
    with rd.Graph().as_default(), rd.Session() as made:
        yield made


def test_one_result(session):
    x = rd.placeholder(rd.float32, [None])
    y = rd.py_func(lambda a: a[::-1] * 2, [x], rd.float32, name="f")
    assert y.op.name == "f" and y.dtype == rd.float32 and y.shape.ndims is None
    assert session.run(y + 1, {x: [1, 2]}).tolist() == [5, 3]
    assert session.run(y + 1, {x: [4]}).tolist() == [9]


def test_several_and_no_results(session):
    a, b = rd.py_func(lambda x: (x + 1, x > 1), [np.arange(3)], [rd.int64, rd.bool])
    got = session.run([a, b])
    assert got[0].tolist() == [1, 2, 3] and got[1].tolist() == [False, False, True]
    seen = []
    assert rd.py_func(seen.append, [a], []) == []
    session.run(session.graph.get_operations()[-1])
    assert seen[0].tolist() == [1, 2, 3]
    (one,) = rd.py_func(lambda: 5, [], [rd.int32])
    assert session.run(one) == 5
    (empty,) = rd.py_func(lambda: np.zeros((0, 2), np.float32), [], [rd.float32])
    assert session.run(empty).shape == (0, 2)


def test_it_is_called_in_every_run(session):
    calls = []
    y = rd.py_func(lambda: len(calls.append(1) or calls), [], rd.int64)
    assert [session.run(y) for _ in range(3)] == [1, 2, 3]
    assert session.run([y, y + 1]) == [4, 5]


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?"])
def test_types(session, dtype):
    value = np.array([[0, 1], [1, 0]], dtype)
    y = rd.py_func(lambda x: x.T, [value], rd.as_dtype(value.dtype))
    got = session.run(y)
    assert got.dtype == value.dtype and np.array_equal(got, value.T)


def test_inputs_are_not_to_be_changed(session):
    def change(x):
        x[0] = 5
        return x

    y = rd.py_func(change, [rd.constant([1.0])], rd.float32)
    with pytest.raises(rd.Error, match="read-only"):
        session.run(y)


def test_what_it_raises_is_the_cause(session):
    def inner():
        raise KeyError("missing")

    def function(x):
        inner()

    y = rd.py_func(function, [1.0], rd.float32, name="bad")
    with pytest.raises(rd.InvalidArgumentError) as failed:
        session.run(y)
    text = str(failed.value)
    assert text.startswith('HostCall "bad" (') and __file__ in text
    assert "its function raised KeyError: 'missing'" in text
    cause = failed.value.__cause__
    assert type(cause) is KeyError
    names = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert names[-2:] == ["function", "inner"]
    # The session goes on, and nothing holds the frames of the failed run.
    assert session.run(rd.constant(1)) == 1


@pytest.mark.parametrize("kind", [rd.UnavailableError, rd.OutOfRangeError])
def test_an_error_of_rondos_keeps_its_kind(session, kind):
    def function():
        raise kind("no service")

    with pytest.raises(kind, match="no service"):
        session.run(rd.py_func(function, [], rd.float32))


@pytest.mark.parametrize("kind", sorted(rd.errors.BY_CODE.values(), key=str))
def test_every_error_of_rondos_keeps_its_kind(session, kind):
    def function():
        raise kind("no more")

    with pytest.raises(kind, match="no more"):
        session.run(rd.py_func(function, [], rd.float32))


def test_an_exception_that_cannot_say_what_it_is(session):
    class Mute(Exception):
        def __str__(self):
            raise ValueError("not even that")

    def function():
        raise Mute

    with pytest.raises(rd.InvalidArgumentError, match="raised Mute: ") as failed:
        session.run(rd.py_func(function, [], rd.float32))
    assert type(failed.value.__cause__) is Mute


def test_a_failed_run_keeps_nothing(session):
    class Thing:
        pass

    alive = []

    def function():
        thing = Thing()
        alive.append(weakref.ref(thing))
        raise ValueError("no")

    y = rd.py_func(function, [], rd.float32)
    with pytest.raises(rd.Error):
        session.run(y)
    gc.collect()
    assert alive[0]() is None


RESULTS = {
    "too few": (lambda: (1.0,), [rd.float32] * 2, "gave 1 results, expected 2"),
    "too many": (lambda: [1.0, 2.0], rd.float32, "gave 2 results, expected 1"),
    "none": (lambda: None, rd.float32, "result 0 of the function is None"),
    "type": (lambda: np.zeros(2), rd.float32, "type float64, expected float32"),
    "text": (lambda: "text", rd.float32, "ValueError: could not convert"),
    "object": (lambda: np.array([None]), rd.float32, "dtype object"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_wrong_results(session, name):
    function, types, text = RESULTS[name]
    y = rd.py_func(function, [], types)
    with pytest.raises(rd.Error, match=text):
        session.run(y)


def test_wrong_arguments():
    with pytest.raises(rd.InvalidArgumentError, match="is not a function"):
        rd.py_func(3, [], rd.float32)
    with pytest.raises(TypeError):
        rd.py_func(abs, [], "no type")


def test_the_function_lives_as_long_as_its_graph():
    class Function:
        def __call__(self):
            return 1.0

    graph = rd.Graph()
    function = Function()
    # A function that knows its graph must not keep it.
    function.graph = graph
    alive = weakref.ref(function)
    with graph.as_default():
        y = rd.py_func(function, [], rd.float32)
    del function
    with rd.Session(graph=graph) as session:
        assert session.run(y) == 1
    gc.collect()
    assert alive() is not None
    core = graph._core
    del graph, session, y
    gc.collect()
    assert alive() is None
    with pytest.raises(rd.Error, match="has gone with its graph"):
        _core.Session(core).run([core.value("PyFunc")])


def test_a_saved_graph_does_not_have_it():
    rd.py_func(lambda: 1.0, [], rd.float32, name="f")
    core = _core.from_graph_def(_core.to_graph_def(rd.get_default_graph()._core))
    with pytest.raises(rd.Error, match="a saved graph does not have"):
        _core.Session(core).run([core.value("f")])


def test_a_run_within_a_run(session):
    x = rd.placeholder(rd.float32, [])
    square = x * x
    y = rd.py_func(lambda v: session.run(square, {x: v}), [x + 1], rd.float32)
    assert session.run(y, {x: 2}) == 9


def test_several_threads():
    with rd.Graph().as_default() as graph:
        x = rd.placeholder(rd.float32, [])
        parts = [
            rd.py_func(lambda v, i=i: v * np.float32(i), [x], rd.float32)
            for i in range(4)
        ]
        total = rd.add_n(parts)
    config = rd.ConfigProto(inter_op_parallelism_threads=3)
    results = {}
    with rd.Session(graph=graph, config=config) as session:

        def run(i):
            results[i] = [session.run(total, {x: i}) for _ in range(20)]

        threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert results == {i: [6 * i] * 20 for i in range(3)}


def test_in_a_loop(session):
    step = rd.while_loop(
        lambda i: i < 5, lambda i: rd.py_func(lambda v: v + 1, [i], rd.int32), [0]
    )
    assert session.run(step) in (5, [5])


def test_interrupts_reach_the_caller():
    program = """
import os, signal, rondo as rd
def function():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(10**9):
        pass
    return 1.0
def leave():
    raise SystemExit(7)
with rd.Session() as session:
    try:
        session.run(rd.py_func(function, [], rd.float32))
    except KeyboardInterrupt:
        print("interrupted", session.run(rd.constant(1)), flush=True)
    session.run(rd.py_func(leave, [], rd.float32))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "interrupted 1\n", done.stderr
    assert done.returncode == 7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_custom_gradient(session):
    @rd.custom_gradient
    def f(x, y):
        """Doc."""
        return x * y, lambda d: (d * 10, None)

    assert f.__doc__ == "Doc."
    x, y = rd.placeholder(rd.float32, [2]), rd.constant([3.0, 4.0])
    z = f(x, y)
    dx, dy = rd.gradients(z * 2, [x, y])
    assert dy is None
    got = session.run([z, dx], {x: [1, 2]})
    assert got[0].tolist() == [3, 8] and got[1].tolist() == [20, 20]
    compared(x.graph, "CustomGradient")


def test_a_gradient_for_a_python_function(session):
    @rd.custom_gradient
    def sin(x):
        y = rd.py_func(np.sin, [x], rd.float64)
        y.set_shape(x.shape)
        return y, lambda dy: dy * rd.cos(x)

    x = rd.placeholder(rd.float64, [3])
    (dx,) = rd.gradients(rd.reduce_sum(sin(x) * 3.0), x)
    at = np.array([0.0, 0.5, 1.0])
    assert np.allclose(session.run(dx, {x: at}), 3 * np.cos(at))
    with pytest.raises(rd.Error, match="has no gradient"):
        rd.gradients(rd.py_func(np.sin, [x], rd.float64), x)


def test_custom_gradient_of_several(session):
    @rd.custom_gradient
    def both(x):
        return [x + 1, x * 2], lambda a, b: a * 100 + b

    x = rd.constant(1.0)
    first, second = both(x)
    assert session.run(rd.gradients(first, x)[0]) == 100
    assert session.run(rd.gradients(second, x)[0]) == 1
    assert session.run(rd.gradients(first + second, x)[0]) == 101


def test_custom_gradient_of_a_variable(session):
    @rd.custom_gradient
    def f(w):
        return w * w, lambda dy: dy * 7

    w = rd.Variable(2.0)
    train = rd.train.GradientDescentOptimizer(1.0).minimize(f(w))
    session.run(rd.global_variables_initializer())
    session.run(train)
    assert session.run(w) == 2 - 7


def test_wrong_custom_gradients():
    x = rd.constant([1.0, 2.0])
    v = rd.Variable(1.0, name="v")
    with pytest.raises(rd.InvalidArgumentError, match="must give .result, gradient"):
        rd.custom_gradient(lambda a: (a, 1))(x)
    with pytest.raises(rd.InvalidArgumentError, match='uses the variable "v"'):
        rd.custom_gradient(lambda a: (a * v, lambda d: d))(x)
    few = rd.custom_gradient(lambda a, b: (a + b, lambda d: d))(x, x)
    with pytest.raises(rd.InvalidArgumentError, match="gave 1 gradients for 2"):
        rd.gradients(few, x)
    shape = rd.custom_gradient(lambda a: (a, lambda d: rd.reduce_sum(d)))(x)
    with pytest.raises(rd.InvalidArgumentError, match="a gradient has shape"):
        rd.gradients(shape, x)
    raises = rd.custom_gradient(lambda a: (a, lambda d: 1 / 0))(x)
    with pytest.raises(ZeroDivisionError):
        rd.gradients(raises, x)
