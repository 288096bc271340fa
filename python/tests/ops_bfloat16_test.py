"""Operations of bfloat16 against NumPy in f64, rounded."""

import numpy as np
import pytest
from graph_ops import run_op
from ml_dtypes import bfloat16

# Results are rounded once; what is computed in several steps may be off by a
# unit in the last place.
ULP = 2.0**-7


def numbers(shape, seed=1, low=-3.0, high=3.0):
    rng = np.random.default_rng(seed)
    return rng.uniform(low, high, shape).astype(bfloat16)


def wide(x):
    return x.astype(np.float64)


def close(got, want, ulps=1.0, atol=1e-6):
    assert got.dtype == bfloat16
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(wide(got), want, rtol=ulps * ULP, atol=atol)


BINARY = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": lambda x, y: (x - y) ** 2,
}


@pytest.mark.parametrize("op", BINARY)
def test_binary(op):
    for a, b in [((), ()), ((5,), ()), ((6, 33), (33,)), ((2, 1, 5), (3, 1))]:
        x, y = np.asarray(numbers(a, 1)), np.asarray(numbers(b, 2, 0.5))
        close(run_op(op, [x, y])[0], BINARY[op](wide(x), wide(y)))


UNARY = {
    "Neg": (np.negative, -3),
    "Abs": (np.abs, -3),
    "Square": (np.square, -3),
    "Exp": (np.exp, -3),
    "Log": (np.log, 0.1),
    "Log1p": (np.log1p, -0.5),
    "Sqrt": (np.sqrt, 0),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), 0.1),
    "Sin": (np.sin, -3),
    "Cos": (np.cos, -3),
    "Tanh": (np.tanh, -3),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -3),
    "Relu": (lambda x: np.maximum(x, 0), -3),
    "Softplus": (lambda x: np.logaddexp(x, 0), -3),
    "Floor": (np.floor, -3),
    "Ceil": (np.ceil, -3),
    "Sign": (np.sign, -3),
}


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    function, low = UNARY[op]
    for shape in (), (7,), (33, 65), (0, 3):
        x = np.asarray(numbers(shape, 3, low))
        close(run_op(op, [x])[0], np.asarray(function(wide(x))))


def test_comparisons():
    x, y = numbers((40,), 1), numbers((40,), 2)
    x[:10] = y[:10]
    for op, function in [
        ("Less", np.less),
        ("LessEqual", np.less_equal),
        ("Equal", np.equal),
        ("NotEqual", np.not_equal),
        ("Greater", np.greater),
    ]:
        np.testing.assert_array_equal(run_op(op, [x, y])[0], function(wide(x), wide(y)))
    condition = np.arange(40) % 3 == 0
    (got,) = run_op("Select", [condition, x, y])
    np.testing.assert_array_equal(wide(got), np.where(condition, wide(x), wide(y)))


@pytest.mark.parametrize("to", [np.float64, np.float32, np.float16, np.int32])
def test_cast(to):
    x = numbers((33, 7), 4, -100, 100)
    (got,) = run_op("Cast", [x], dtype=to)
    np.testing.assert_array_equal(got, x.astype(to))
    exact = np.linspace(-50, 50, 231).astype(to)
    (got,) = run_op("Cast", [exact], dtype=bfloat16)
    np.testing.assert_array_equal(wide(got), wide(exact.astype(bfloat16)))


def test_cast_rounds_to_even_and_keeps_what_is_not_a_number():
    x = np.array(
        [1 + 2**-8, 1 + 3 * 2**-8, np.inf, -np.inf, np.nan, 1e-40, 3.4e38], np.float32
    )
    (got,) = run_op("Cast", [x], dtype=bfloat16)
    np.testing.assert_array_equal(wide(got), wide(x.astype(bfloat16)))


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min", "Prod"])
def test_reductions(op):
    function = getattr(np, op.lower())
    x = numbers((4, 5, 70), 5, 0.5, 1.2)
    for axes in [], [0], [-1], [0, 2]:
        want = function(wide(x), axis=tuple(axes) if axes else None)
        (got,) = run_op(op, [x], axes=axes)
        close(got, want, 1 if op != "Prod" else 2)


def test_products():
    a, b = numbers((17, 70), 6, -1, 1), numbers((70, 9), 7, -1, 1)
    close(run_op("MatMul", [a, b])[0], wide(a) @ wide(b), 1, 0.05)
    x, y = numbers((3, 4, 8), 8, -1, 1), numbers((8, 5), 9, -1, 1)
    close(run_op("BatchMatMul", [x, y])[0], wide(x) @ wide(y), 1, 0.02)
    bias = numbers((9,), 10)
    close(run_op("BiasAdd", [a[:, :9], bias])[0], wide(a[:, :9]) + wide(bias))


def test_networks():
    x = numbers((6, 33), 11)
    e = np.exp(wide(x))
    p = e / e.sum(axis=-1, keepdims=True)
    close(run_op("Softmax", [x])[0], p)
    close(run_op("LogSoftmax", [x])[0], np.log(p))
    labels = np.arange(6)
    loss, back = run_op("SparseSoftmaxCrossEntropyWithLogits", [x, labels])
    one_hot = np.eye(33)[labels]
    close(loss, -np.log(p)[np.arange(6), labels])
    close(back, p - one_hot, 1, 1e-3)
    ones, zeros = np.ones(33, bfloat16), np.zeros(33, bfloat16)
    y = run_op("LayerNorm", [x, ones, zeros], epsilon=1e-3)[0]
    w = wide(x)
    want = (w - w.mean(-1, keepdims=True)) / np.sqrt(w.var(-1, keepdims=True) + 1e-3)
    close(y, want, 1, 1e-2)


def test_convolution():
    x, filter = numbers((2, 6, 7, 3), 12, -1, 1), numbers((3, 2, 3, 8), 13, -1, 1)
    want = np.zeros((2, 4, 6, 8))
    for i in range(3):
        for j in range(2):
            want += wide(x)[:, i : i + 4, j : j + 6] @ wide(filter)[i, j]
    close(run_op("Conv2D", [x, filter], padding="VALID")[0], want, 1, 0.02)
    (pooled, _) = run_op("MaxPool", [x], ksize=[2, 2], strides=[2, 2])
    blocks = wide(x)[:, :6, :6].reshape(2, 3, 2, 3, 2, 3)
    np.testing.assert_array_equal(wide(pooled), blocks.max(axis=(2, 4)))


def test_arrays_are_moved_as_they_are():
    x = numbers((3, 4, 5), 14)
    for op, inputs, attrs, want in [
        ("Transpose", [x], {"perm": [2, 0, 1]}, x.transpose(2, 0, 1)),
        ("Reshape", [x, np.array([5, -1])], {}, x.reshape(5, -1)),
        ("Concat", [x, x], {"axis": 1}, np.concatenate([x, x], 1)),
        ("Gather", [x, np.array([2, 0])], {"axis": 0}, x[[2, 0]]),
        ("Tile", [x, np.array([1, 2, 1])], {}, np.tile(x, [1, 2, 1])),
        ("Reverse", [x], {"axes": [1]}, x[:, ::-1]),
    ]:
        (got,) = run_op(op, inputs, **attrs)
        assert got.dtype == bfloat16, op
        np.testing.assert_array_equal(got.view(np.uint16), want.view(np.uint16), op)
