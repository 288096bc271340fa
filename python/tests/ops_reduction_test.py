"""Reductions against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo

FLOATS = [np.float64, np.float32, np.float16]
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]
NUMBERS = FLOATS + INTEGERS
CASES = [
    ((), []),
    ((5,), []),
    ((5,), [0]),
    ((1, 1), [1]),
    ((7, 9), []),
    ((7, 9), [0]),
    ((7, 9), [1]),
    ((3, 4, 5), [1]),
    ((3, 4, 5), [0, 2]),
    ((3, 4, 5), [-1, 0]),
    ((2, 3, 1, 4, 5), [0, 3]),
    ((2, 3, 4, 2, 3), [1, 3]),
    ((400, 300), []),
    ((400, 300), [0]),
    ((400, 300), [1]),
    ((4, 70000), [1]),
    ((30000, 3), [0]),
    ((40, 20, 30, 5), [0, 2]),
    ((5, 2500), [0]),
    ((0, 4), [0]),
    ((0, 4), [1]),
]


def random(rng, shape, dtype, low=-3, high=3):
    if np.issubdtype(dtype, np.integer):
        low = max(low, 0) if dtype == np.uint8 else low
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def wide(x):
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


def axis_of(axes):
    return tuple(axes) if axes else None


def check(got, want, dtype, atol):
    assert got.dtype == dtype
    assert got.shape == want.shape
    if np.issubdtype(dtype, np.floating):
        rtol = 3 * np.finfo(dtype).eps
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(got, want)


def sums_error(x):
    """What the rounding of a sum's parts can amount to."""
    if not np.issubdtype(x.dtype, np.floating):
        return 0
    if x.dtype == np.float16:
        return 0.01
    if x.dtype == np.float64:  # NumPy's own is no better
        return x.size * np.finfo(x.dtype).eps
    return 4 * np.sqrt(x.size) * np.finfo(x.dtype).eps


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_sum_and_mean(dtype, keep_dims):
    rng = np.random.default_rng(1)
    for shape, axes in CASES:
        x = random(rng, shape, dtype)
        axis = axis_of(axes)
        kind = {"axis": axis, "keepdims": keep_dims}
        attrs = {"axes": axes, "keep_dims": keep_dims}
        (got,) = run_op("Sum", [x], **attrs)
        total = wide(x).sum(dtype=wide(x).dtype, **kind)
        check(got, np.asarray(total), dtype, sums_error(x))
        if x.size == 0:
            continue
        if np.issubdtype(dtype, np.integer):
            exact = x.sum(dtype=np.int64, **kind)
            count = x.size // max(1, np.asarray(exact).size)
            want = np.trunc(exact / count).astype(dtype)
        else:
            want = wide(x).mean(**kind)
        (got,) = run_op("Mean", [x], **attrs)
        check(got, np.asarray(want), dtype, sums_error(x))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_prod(dtype):
    rng = np.random.default_rng(2)
    for shape, axes in CASES:
        x = random(rng, shape, dtype, 1, 2)
        x = np.where(rng.random(shape) < 0.9, dtype(1), x).astype(dtype)
        if x.size > 1000 and np.issubdtype(dtype, np.floating):
            continue
        (got,) = run_op("Prod", [x], axes=axes, keep_dims=False)
        want = wide(x).prod(axis=axis_of(axes), dtype=wide(x).dtype)
        assert got.shape == want.shape
        if np.issubdtype(dtype, np.integer):
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(
                got.astype(float), want, rtol=4 * np.finfo(dtype).eps
            )


@pytest.mark.parametrize("op, function", [("Max", np.max), ("Min", np.min)])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_extrema(op, function, dtype):
    rng = np.random.default_rng(3)
    for shape, axes in CASES:
        x = random(rng, shape, dtype, -100, 100)
        if x.size == 0:
            continue
        for nan in [False, True]:
            if nan and np.issubdtype(dtype, np.floating):
                x.reshape(-1)[x.size // 2] = np.nan
            for keep_dims in False, True:
                (got,) = run_op(op, [x], axes=axes, keep_dims=keep_dims)
                want = function(x, axis=axis_of(axes), keepdims=keep_dims)
                assert got.dtype == dtype
                np.testing.assert_array_equal(got, want)


def test_extrema_of_nothing():
    for dtype in NUMBERS:
        limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else None
        x = np.zeros((0, 3), dtype)
        (largest,) = run_op("Max", [x], axes=[0])
        (smallest,) = run_op("Min", [x], axes=[0])
        np.testing.assert_array_equal(largest, [limits.min if limits else -np.inf] * 3)
        np.testing.assert_array_equal(smallest, [limits.max if limits else np.inf] * 3)


@pytest.mark.parametrize("op, function", [("All", np.all), ("Any", np.any)])
def test_logic(op, function):
    rng = np.random.default_rng(4)
    for shape, axes in CASES:
        for likely in 0.01, 0.5, 0.99:
            x = np.asarray(rng.random(shape) < likely)
            (got,) = run_op(op, [x], axes=axes)
            want = function(x, axis=axis_of(axes))
            assert got.dtype == np.bool_
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_sum_exp(dtype):
    rng = np.random.default_rng(5)
    for shape, axes in CASES:
        x = random(rng, shape, dtype, -20, 20)
        if x.size == 0:
            continue
        for keep_dims in False, True:
            (got,) = run_op("LogSumExp", [x], axes=axes, keep_dims=keep_dims)
            want = np.log(np.exp(wide(x)).sum(axis=axis_of(axes), keepdims=keep_dims))
            check(got, np.asarray(want), dtype, atol=2e-6)
    large = np.array([[1e4, 1e4], [-np.inf, -np.inf], [np.inf, 0]], dtype)
    (got,) = run_op("LogSumExp", [large], axes=[1])
    want = np.array([1e4 + np.log(2), -np.inf, np.inf])
    np.testing.assert_allclose(got.astype(float), want, rtol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
def test_l2_loss(dtype):
    rng = np.random.default_rng(6)
    for shape in [(), (5,), (3, 0), (20, 30), (300, 400)]:
        x = random(rng, shape, dtype, -0.5, 0.5)
        (got,) = run_op("L2Loss", [x])
        want = (wide(x) ** 2).sum() / 2
        assert got.shape == ()
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("keep_dims", [False, True])
def test_gradients(dtype, keep_dims):
    rng = np.random.default_rng(7)
    for shape, axes in CASES:
        x = random(rng, shape, dtype)
        axis = axis_of(axes)
        kept = x.sum(axis=axis, keepdims=True).shape
        y = random(rng, x.sum(axis=axis, keepdims=keep_dims).shape, dtype)
        attrs = {"axes": axes, "keep_dims": keep_dims}
        for mean in False, True:
            if mean and x.size == 0:
                continue
            (got,) = run_op(
                "SumGrad", [y, np.array(shape, np.int64)], mean=mean, **attrs
            )
            want = np.broadcast_to(y.reshape(kept), shape).astype(np.float64)
            if mean:
                want = want * y.size / x.size
            np.testing.assert_allclose(
                got.astype(float), want, rtol=np.finfo(dtype).eps, atol=1e-7
            )
        if axes and not keep_dims:
            (got,) = run_op("RestoreAxes", [y], axes=axes)
            np.testing.assert_array_equal(got, y.reshape(kept))
        if x.size > 200 or x.size == 0:
            continue
        factors = np.where(np.abs(x) < 0.2, dtype(0), x / dtype(2)).astype(dtype)
        (got,) = run_op("ProdGrad", [y, factors], **attrs)
        want = np.zeros(shape)
        spread = np.broadcast_to(y.reshape(kept), shape)
        for i in np.ndindex(shape):
            others = factors.astype(float).copy()
            others[i] = 1
            products = np.broadcast_to(others.prod(axis=axis, keepdims=True), shape)
            want[i] = spread[i] * products[i]
        np.testing.assert_allclose(
            got.astype(float), want, rtol=20 * np.finfo(dtype).eps, atol=1e-7
        )


def test_axes_that_are_not_there():
    with pytest.raises(rondo.Error, match="axis"):
        run_op("Sum", [np.zeros((2, 3))], axes=[2])
    with pytest.raises(rondo.Error, match="twice"):
        run_op("Sum", [np.zeros((2, 3))], axes=[0, -2])
