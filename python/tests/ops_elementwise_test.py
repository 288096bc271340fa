"""Element-wise operations against NumPy, and reductions' kin that need none."""

import math

import numpy as np
import pytest
from graph_ops import run_op

import rondo

FLOATS = [np.float64, np.float32, np.float16]
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]
NUMBERS = FLOATS + INTEGERS
SHAPES = [
    ((), ()),
    ((7,), (7,)),
    ((5,), ()),
    ((), (3, 4)),
    ((6, 33), (33,)),
    ((6, 33), (6, 1)),
    ((2, 1, 5), (3, 1)),
    ((4, 1, 3, 1), (2, 1, 17)),
    ((0, 3), (3,)),
    ((300, 257), (300, 257)),
    ((300, 257), (257,)),
    ((300, 257), (300, 1)),
    ((40001,), ()),
]
# As many units in the last place as results may be off.
ULPS = {np.float64: 4, np.float32: 5, np.float16: 1}

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def random(rng, shape, dtype, low=-4, high=4):
    if np.issubdtype(dtype, np.integer):
        low = max(low, 0) if dtype == np.uint8 else low
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def check(got, want, dtype, ulps=None, atol=0.0):
    """Whether `got` is `want`, computed in f64, up to rounding."""
    assert got.dtype == dtype
    assert got.shape == want.shape
    if np.issubdtype(dtype, np.floating):
        rtol = (ulps or ULPS[dtype]) * np.finfo(dtype).eps
        tiny = float(np.finfo(dtype).smallest_subnormal) * 4
        np.testing.assert_allclose(
            got.astype(np.float64), want, rtol=rtol, atol=max(atol, tiny)
        )
    else:
        np.testing.assert_array_equal(got, want)


def floats(x):
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


BINARY = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": lambda x, y: (x - y) * (x - y),
}


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_binary(op, dtype):
    rng = np.random.default_rng(1)
    for x_shape, y_shape in SHAPES:
        x = random(rng, x_shape, dtype)
        y = random(rng, y_shape, dtype)
        (got,) = run_op(op, [x, y])
        # Differences cancel, so what was rounded before counts.
        check(got, BINARY[op](floats(x), floats(y)), dtype, atol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_divisions_of_floats(dtype):
    rng = np.random.default_rng(2)
    for x_shape, y_shape in SHAPES:
        x = random(rng, x_shape, dtype)
        y = random(rng, y_shape, dtype, 0.5, 3) * dtype(rng.choice([-1, 1]))
        check(run_op("Div", [x, y])[0], floats(x) / floats(y), dtype)
        # 16-bit numbers are computed as floats.
        kind = np.float64 if dtype == np.float64 else np.float32
        want = np.floor(x.astype(kind) / y.astype(kind)).astype(float)
        check(run_op("FloorDiv", [x, y])[0], want, dtype)
        (got,) = run_op("Mod", [x, y])
        if dtype != np.float16:
            check(got, np.mod(x, y).astype(float), dtype, atol=1e-6)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions_of_integers(dtype):
    rng = np.random.default_rng(3)
    for x_shape, y_shape in SHAPES:
        x = random(rng, x_shape, dtype, -100, 100)
        y = random(rng, y_shape, dtype, 1, 7)
        if dtype != np.uint8:
            y *= rng.choice([-1, 1], y_shape).astype(dtype)
        wide = x.astype(np.int64), y.astype(np.int64)
        truncated = np.trunc(wide[0] / wide[1]).astype(dtype)
        check(run_op("Div", [x, y])[0], truncated, dtype)
        check(run_op("FloorDiv", [x, y])[0], x // y, dtype)
        check(run_op("Mod", [x, y])[0], np.mod(x, y), dtype)


def test_division_of_integers_by_zero():
    x, y = np.array([1, 2]), np.array([1, 0])
    for op in "Div", "FloorDiv", "Mod":
        with pytest.raises(rondo.Error, match="division of integers by zero"):
            run_op(op, [x, y])
    with pytest.raises(rondo.Error, match="negative power"):
        run_op("Pow", [x, -y - 1])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_pow(dtype):
    rng = np.random.default_rng(4)
    for x_shape, y_shape in SHAPES:
        x = random(rng, x_shape, dtype, 1, 4)
        y = random(rng, y_shape, dtype, 0, 4)
        with np.errstate(over="ignore"):
            check(run_op("Pow", [x, y])[0], np.power(floats(x), floats(y)), dtype)
    x = random(rng, (50,), dtype)
    check(run_op("Pow", [x, np.array(2, dtype)])[0], np.power(floats(x), 2), dtype)


COMPARE = {
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Equal": np.equal,
    "NotEqual": np.not_equal,
}


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_comparisons(op, dtype):
    rng = np.random.default_rng(5)
    for x_shape, y_shape in SHAPES:
        x = np.rint(random(rng, x_shape, dtype)).astype(dtype)
        y = np.rint(random(rng, y_shape, dtype)).astype(dtype)
        if np.issubdtype(dtype, np.floating) and x.size > 2:
            x[..., -1] = np.nan
        check(run_op(op, [x, y])[0], COMPARE[op](x, y), np.bool_)


def test_logic():
    rng = np.random.default_rng(6)
    for x_shape, y_shape in SHAPES:
        x = rng.random(x_shape) < 0.5
        y = rng.random(y_shape) < 0.5
        x, y = np.asarray(x), np.asarray(y)
        check(run_op("LogicalAnd", [x, y])[0], x & y, np.bool_)
        check(run_op("LogicalOr", [x, y])[0], x | y, np.bool_)
        check(run_op("LogicalNot", [x])[0], ~x, np.bool_)
        check(run_op("Equal", [x, y])[0], x == y, np.bool_)
        check(run_op("NotEqual", [x, y])[0], x != y, np.bool_)


UNARY = {
    "Neg": (np.negative, -4, 4, NUMBERS),
    "Abs": (np.abs, -4, 4, NUMBERS),
    "Sign": (np.sign, -4, 4, NUMBERS),
    "Square": (np.square, -4, 4, NUMBERS),
    "Exp": (np.exp, -10, 10, FLOATS),
    "Log": (np.log, 1e-4, 100, FLOATS),
    "Log1p": (np.log1p, -0.9, 100, FLOATS),
    "Sqrt": (np.sqrt, 0, 100, FLOATS),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 100, FLOATS),
    "Sin": (np.sin, -50, 50, FLOATS),
    "Cos": (np.cos, -50, 50, FLOATS),
    "Tanh": (np.tanh, -10, 10, FLOATS),
    "Sigmoid": (sigmoid, -20, 20, FLOATS),
    "Relu": (lambda x: np.maximum(x, 0), -4, 4, FLOATS),
    "LeakyRelu": (lambda x: np.where(x > 0, x, 0.2 * x), -4, 4, FLOATS),
    "Elu": (lambda x: np.where(x > 0, x, np.expm1(x)), -6, 6, FLOATS),
    "Gelu": (lambda x: 0.5 * x * erfc(-x / np.sqrt(2)), -4, 4, FLOATS),
    "Softplus": (lambda x: np.logaddexp(x, 0), -10, 10, FLOATS),
    "Floor": (np.floor, -9, 9, FLOATS),
    "Ceil": (np.ceil, -9, 9, FLOATS),
    "Round": (np.rint, -9, 9, FLOATS),
}
# Near a zero of sin and cos what counts is the error against 1.
ABSOLUTE = {"Sin": 2e-7, "Cos": 2e-7, "Gelu": 1e-7}


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    function, low, high, dtypes = UNARY[op]
    rng = np.random.default_rng(7)
    for dtype in dtypes:
        for shape in [(), (1,), (5, 7), (0,), (3, 0, 2), (70001,)]:
            x = random(rng, shape, dtype, low, high)
            want = function(floats(x))
            if want.size == 0:
                want = want.reshape(shape)
            if np.issubdtype(dtype, np.integer):
                want = want.astype(dtype)
            atol = ABSOLUTE.get(op, 0) if dtype != np.float64 else 1e-15
            check(run_op(op, [x])[0], np.asarray(want), dtype, atol=atol)


def test_attributes():
    rng = np.random.default_rng(8)
    for dtype in FLOATS:
        x = random(rng, (1000,), dtype)
        wide = floats(x)
        atol = 1e-6 if dtype == np.float32 else 1e-14
        (got,) = run_op("LeakyRelu", [x], alpha=0.5)
        check(got, np.where(wide > 0, wide, 0.5 * wide), dtype)
        (got,) = run_op("Elu", [x], alpha=2.0)
        check(got, np.where(wide > 0, wide, 2 * np.expm1(wide)), dtype)
        (got,) = run_op("Gelu", [x], approximate=True)
        check(got, gelu_tanh(wide), dtype, atol=atol)


SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 88.9, -104.5, 1e30, -1e30],
    np.float32,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values(dtype):
    x = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        for op in UNARY:
            if op in ("Gelu", "Softplus"):
                continue
            want = np.asarray(UNARY[op][0](x.astype(np.float64)))
            want = want.astype(dtype).astype(np.float64)
            (got,) = run_op(op, [x])
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-38, err_msg=op)
        for op in "Maximum", "Minimum":
            y = np.roll(x, 1)
            np.testing.assert_array_equal(run_op(op, [x, y])[0], BINARY[op](x, y))
    want = [np.nan, np.inf, 0, 0, 0, 0, 0, 88.9, 0, 1e30, 0]
    for approximate in False, True:
        (got,) = run_op("Gelu", [x], approximate=approximate)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-30)
    ln2 = math.log(2)
    want = [np.nan, np.inf, 0, ln2, ln2, ln2, ln2, 88.9, 0, 1e30, 0]
    np.testing.assert_allclose(run_op("Softplus", [x])[0], want, rtol=1e-6, atol=1e-30)


def gelu_slope(x):
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return 0.5 * erfc(-x / np.sqrt(2)) + x * density


def gelu_tanh_slope(x):
    k, c = np.sqrt(2 / np.pi), 0.044715
    t = np.tanh(k * (x + c * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * c * x * x)


GRADS = {
    "SqrtGrad": ({}, lambda dy, y: dy / (2 * y)),
    "RsqrtGrad": ({}, lambda dy, y: -0.5 * dy * y**3),
    "ReluGrad": ({}, lambda dy, y: np.where(y > 0, dy, 0)),
    "LeakyReluGrad": ({"alpha": 0.5}, lambda dy, x: np.where(x > 0, dy, 0.5 * dy)),
    "EluGrad": ({"alpha": 2.0}, lambda dy, x: np.where(x > 0, dy, 2 * dy * np.exp(x))),
    "GeluGrad": ({"approximate": False}, lambda dy, x: dy * gelu_slope(x)),
    "GeluGrad ": ({"approximate": True}, lambda dy, x: dy * gelu_tanh_slope(x)),
    "SigmoidGrad": ({}, lambda dy, y: dy * y * (1 - y)),
    "TanhGrad": ({}, lambda dy, y: dy * (1 - y * y)),
    "SoftplusGrad": ({}, lambda dy, x: dy * sigmoid(x)),
}


@pytest.mark.parametrize("op", GRADS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients(op, dtype):
    attrs, function = GRADS[op]
    rng = np.random.default_rng(9)
    for shape in [(), (3,), (0, 2), (5, 33), (300, 257)]:
        dy = random(rng, shape, dtype, -2, 2)
        x = random(rng, shape, dtype, -3, 3)
        (got,) = run_op(op.strip(), [dy, x], **attrs)
        want = np.asarray(function(floats(dy), floats(x))).reshape(shape)
        atol = {np.float64: 1e-13, np.float32: 1e-5, np.float16: 1e-3}[dtype]
        check(got, want, dtype, atol=atol if "Gelu" in op or "Tanh" in op else 1e-6)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_])
def test_select(dtype):
    rng = np.random.default_rng(10)
    shapes = [(), (5,), (4, 5), (4, 1), (3, 4, 5)]
    for a in shapes:
        for b in shapes:
            for c in [(), (5,), (3, 1, 1)]:
                condition = np.asarray(rng.random(a) < 0.5)
                x = random(rng, b, np.int8).astype(dtype)
                y = random(rng, c, np.int8).astype(dtype)
                (got,) = run_op("Select", [condition, x, y])
                check(got, np.where(condition, x, y), dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_clip_by_value(dtype):
    rng = np.random.default_rng(11)
    for x_shape, y_shape in SHAPES:
        x = random(rng, x_shape, dtype)
        low = random(rng, y_shape, dtype, 0, 1)
        high = (low + dtype(2)).astype(dtype)
        (got,) = run_op("ClipByValue", [x, low, high])
        np.testing.assert_array_equal(got, np.minimum(np.maximum(x, low), high))
    (got,) = run_op("ClipByValue", [x, np.array(1, dtype), np.array(3, dtype)])
    np.testing.assert_array_equal(got, np.clip(x, 1, 3))


@pytest.mark.parametrize("dtype", FLOATS)
def test_numerics(dtype):
    x = np.array([[1, np.nan], [np.inf, -2]], dtype)
    np.testing.assert_array_equal(run_op("IsNan", [x])[0], np.isnan(x))
    good = np.array([1, -2, 0, np.finfo(dtype).max], dtype)
    np.testing.assert_array_equal(run_op("CheckNumerics", [good])[0], good)
    with pytest.raises(rondo.Error, match="the loss.*1 of 4 elements are NaN"):
        run_op("CheckNumerics", [x], message="the loss")


@pytest.mark.parametrize("dtype", NUMBERS)
def test_add_n(dtype):
    rng = np.random.default_rng(12)
    for n in 1, 2, 3, 5, 17, 40:
        values = [random(rng, (6, 7), dtype, 0, 2) for _ in range(n)]
        want = sum(floats(v) for v in values)
        check(run_op("AddN", values)[0], want, dtype, ulps=n)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sum_to(dtype):
    rng = np.random.default_rng(13)
    for shape, to, axes in [
        ((4, 5), (4, 5), ()),
        ((4, 5), (5,), (0,)),
        ((4, 5), (4, 1), (1,)),
        ((4, 5), (), (0, 1)),
        ((2, 3, 4, 5), (3, 1, 5), (0, 2)),
        ((1, 3), (3,), (0,)),
        ((0, 3), (3,), (0,)),
    ]:
        x = random(rng, shape, dtype, 0, 2)
        want = floats(x).sum(axis=axes, dtype=floats(x).dtype).reshape(to)
        check(run_op("SumTo", [x, np.array(to, np.int64)])[0], want, dtype)
        y = random(rng, to, dtype)
        (got,) = run_op("SumToGrad", [y, np.array(shape, np.int32)])
        np.testing.assert_array_equal(got, np.broadcast_to(y, shape))
    with pytest.raises(rondo.Error, match=r"\[2\] can be broadcast to \[4, 5\]"):
        run_op("SumTo", [np.zeros((4, 5)), np.array([2])])


def test_shapes_that_do_not_fit():
    with pytest.raises(rondo.Error, match=r"\[3\].*\[4\]"):
        run_op("Add", [np.zeros(3), np.zeros(4)])
