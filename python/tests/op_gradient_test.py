"""Gradients that a program registers for operations."""

import numpy as np
import pytest
from rondo.framework import op_gradients

import rondo as rd


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(op_gradients, "_registered", dict(op_gradients._registered))
    with rd.Graph().as_default(), rd.Session() as made:
        yield made


def test_an_override_is_for_what_is_made_within(session):
    @rd.RegisterGradient("Twice")
    def twice(op, grad):
        assert op.type == "Sign" and op.inputs[0].name == x.name
        return 2 * grad

    x = rd.placeholder(rd.float32, [2], name="x")
    before = rd.sign(x)
    with session.graph.gradient_override_map({"Sign": "Twice"}):
        y = rd.sign(x, name="y")
        other = rd.square(x)
        with session.graph.gradient_override_map({"Sign": "Identity"}):
            straight = rd.sign(x)
    after = rd.sign(x)
    assert rd.gradients([before, after], x) == [None]
    grads = [rd.gradients(v, x)[0] for v in (y, other, straight)]
    got = session.run([y, "y:0", *grads], {x: [3, -4]})
    assert got[0].tolist() == got[1].tolist() == [1, -1]
    assert [g.tolist() for g in got[2:]] == [[2, 2], [6, -8], [1, 1]]


def test_a_gradient_of_py_func(session):
    """As programs of TensorFlow's do it."""

    @rd.RegisterGradient("SinGradient")
    def grad(op, dy):
        return dy * rd.cos(op.inputs[0])

    x = rd.placeholder(rd.float32, [3])
    with session.graph.gradient_override_map({"PyFunc": "SinGradient"}):
        y = rd.py_func(np.sin, [x], rd.float32)
    (dx,) = rd.gradients(y, x)
    at = np.array([0.0, 0.5, 2.0], np.float32)
    got = session.run([y, dx], {x: at})
    assert np.allclose(got[0], np.sin(at)) and np.allclose(got[1], np.cos(at))


def test_several_inputs_and_outputs(session):
    @rd.RegisterGradient("Parts")
    def parts(op, first, second):
        assert len(op.outputs) == 2
        return first - second, None

    x = rd.placeholder(rd.float32, [2])
    with session.graph.gradient_override_map({"PyFunc": "Parts"}):
        a, b = rd.py_func(lambda x, k: (x, x * k), [x, 3.0], [rd.float32] * 2)
    (dx,) = rd.gradients([a * 5, b], x)
    assert session.run(dx, {x: [1, 1]}).tolist() == [4, 4]


def test_an_operation_without_a_gradient_gets_one(session):
    x = rd.placeholder(rd.float32, [3])
    with pytest.raises(rd.Error, match="gradient"):
        rd.gradients(rd.py_func(np.sin, [x], rd.float32), x)
    rd.RegisterGradient("PyFunc")(lambda op, dy: dy * 7)
    y = rd.py_func(np.sin, [x], rd.float32)
    (dx,) = rd.gradients(y, x)
    assert session.run(dx, {x: [0, 1, 2]}).tolist() == [7, 7, 7]


def test_what_is_refused(session):
    register = rd.RegisterGradient
    graph = session.graph
    register("Mine")(lambda op, dy: (dy, dy))
    for call, why in (
        (lambda: register("Mine")(lambda op, dy: dy), 'a gradient "Mine" already'),
        (lambda: register("Relu")(lambda op, dy: dy), "Relu has a gradient"),
        (lambda: register(3), "3 is not a name"),
        (lambda: register("Other")(3), "3 is not a function"),
        (lambda: graph.gradient_override_map(["Sign"]).__enter__(), "a dict of"),
        (
            lambda: graph.gradient_override_map({"Sign": "No"}).__enter__(),
            'no gradient "No"; register it',
        ),
        (
            lambda: graph.gradient_override_map({"Sine": "Mine"}).__enter__(),
            'no operation "Sine"',
        ),
    ):
        with pytest.raises(rd.InvalidArgumentError, match=why):
            call()
    x = rd.placeholder(rd.float32, [3])
    with graph.gradient_override_map({"Sign": "Mine"}):
        y = rd.sign(x, name="y")
    with pytest.raises(rd.InvalidArgumentError, match='Sign "y".* gave 2 gradients'):
        rd.gradients(y, x)
