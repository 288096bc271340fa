"""Operations that compute gradients in one pass, against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

FLOATS = [np.float64, np.float32, np.float16]
TOLERANCE = {np.float64: 1e-11, np.float32: 2e-5, np.float16: 2e-2}


def numbers(shape, dtype, seed=1, scale=1.0):
    return (np.random.default_rng(seed).uniform(-1, 1, shape) * scale).astype(dtype)


def wide(*arrays):
    return [x.astype(np.float64) for x in arrays]


def close(got, want, dtype):
    assert got.dtype == dtype
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(
        got.astype(np.float64), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (4, 10), (2, 3, 33), (0, 4)])
def test_softmax(dtype, shape):
    y, g = numbers(shape, dtype, 1), numbers(shape, dtype, 2)
    wy, wg = wide(y, g)
    for axis in range(-1, len(shape)):
        (got,) = run_op("SoftmaxGrad", [y, g], axis=axis)
        close(got, wy * (wg - (wy * wg).sum(axis=axis, keepdims=True)), dtype)
        (got,) = run_op("LogSoftmaxGrad", [y, g], axis=axis)
        close(got, wg - np.exp(wy) * wg.sum(axis=axis, keepdims=True), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (5, 33), (0, 4)])
def test_sigmoid_loss(dtype, shape):
    x, z, g = (np.asarray(numbers(shape, dtype, seed, 2)) for seed in (1, 2, 3))
    wx, wz, wg = wide(x, z, g)
    got = run_op("SigmoidCrossEntropyWithLogitsGrad", [x, z, g])
    close(got[0], (sigmoid(wx) - wz) * wg, dtype)
    close(got[1], -wx * wg, dtype)


def normalised_gradient(g, y, rstd, axes):
    mean = g.mean(axis=axes, keepdims=True)
    along = (g * y).mean(axis=axes, keepdims=True)
    return rstd * (g - mean - y * along)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (4, 10), (2, 3, 33), (300, 64)])
def test_layer_norm(dtype, shape):
    g, x, scale = (
        numbers(shape, dtype, 1),
        numbers(shape, dtype, 2),
        numbers(shape[-1:], dtype, 3),
    )
    wg, wx, ws = wide(g, x, scale)
    mean, rstd = wx.mean(-1), 1 / np.sqrt(wx.var(-1) + 1e-3)
    statistics = np.float64 if dtype == np.float64 else np.float32
    got = run_op(
        "LayerNormGrad",
        [g, x, scale, mean.astype(statistics), rstd.astype(statistics)],
    )
    mean, rstd = mean[..., None], rstd[..., None]
    y = (wx - mean) * rstd
    rows = tuple(range(len(shape) - 1))
    close(got[0], normalised_gradient(wg * ws, y, rstd, -1), dtype)
    # These are sums over all rows.
    for found, want in (got[1], (wg * y).sum(rows)), (got[2], wg.sum(rows)):
        np.testing.assert_allclose(
            found, want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 10
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 5, 7), (2, 33, 3, 3)])
def test_batch_norm(dtype, training, data_format, shape):
    axis = len(shape) - 1 if data_format == "NHWC" else 1
    others = tuple(i for i in range(len(shape)) if i != axis)
    along = [1] * len(shape)
    along[axis] = -1
    g, x = numbers(shape, dtype, 1), numbers(shape, dtype, 2)
    scale = numbers(shape[axis : axis + 1], dtype, 3)
    wg, wx, ws = wide(g, x, scale)
    mean, rstd = wx.mean(others), 1 / np.sqrt(wx.var(others) + 1e-2)
    if not training:
        mean, rstd = mean + 0.5, rstd * 0.5
    statistics = np.float64 if dtype == np.float64 else np.float32
    got = run_op(
        "FusedBatchNormGrad",
        [g, x, scale, mean.astype(statistics), rstd.astype(statistics)],
        data_format=data_format,
        is_training=training,
    )
    m, r, s = (v.reshape(along) for v in (mean, rstd, ws))
    y = (wx - m) * r
    if training:
        by_x = normalised_gradient(wg * s, y, r, others)
        by_mean = by_variance = np.zeros(scale.shape)
    else:
        by_x = wg * s * r
        by_mean = -by_x.sum(others)
        by_variance = -0.5 * rstd**3 * (wg * s * (wx - m)).sum(others)
    wants = [by_x, (wg * y).sum(others), wg.sum(others), by_mean, by_variance]
    for found, want in zip(got, wants, strict=True):
        assert found.dtype == dtype
        tolerance = {np.float64: 1e-10, np.float32: 1e-4, np.float16: 3e-2}[dtype]
        np.testing.assert_allclose(
            found, want, rtol=tolerance, atol=tolerance * max(1, np.abs(want).max())
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_lrn(dtype):
    shape, bias, alpha = (2, 3, 9), 1.5, 0.3
    g, x, y = (numbers(shape, dtype, seed) for seed in (1, 2, 3))
    wg, wx, wy = wide(g, x, y)
    i, j = np.indices((9, 9))
    for radius, beta in [(0, 0.5), (2, 0.75), (20, 0.3)]:
        band = (np.abs(i - j) <= radius).astype(np.float64)
        sums = bias + alpha * (wx * wx) @ band
        want = wg * sums**-beta - 2 * alpha * beta * wx * ((wg * wy / sums) @ band)
        (got,) = run_op(
            "LRNGrad", [g, x, y], depth_radius=radius, bias=bias, alpha=alpha, beta=beta
        )
        close(got, want, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("units", [1, 9, 32])
def test_cells(dtype, units):
    gates = numbers((3, 4 * units), dtype, 1)
    c_prev, c, dh, dc = (numbers((3, units), dtype, seed) for seed in (2, 3, 4, 5))
    i, j, f, o = np.split(gates.astype(np.float64), 4, axis=-1)
    p, wc, wdh, wdc = wide(c_prev, c, dh, dc)
    t = np.tanh(wc)
    total = wdh * o * (1 - t * t) + wdc
    want = np.concatenate(
        [
            total * j * i * (1 - i),
            total * i * (1 - j * j),
            total * p * f * (1 - f),
            wdh * t * o * (1 - o),
        ],
        axis=-1,
    )
    got = run_op("LSTMGatesGrad", [gates, c_prev, c, dh, dc])
    close(got[0], want, dtype)
    close(got[1], total * f, dtype)

    gates, h_gates = gates[:, : 3 * units], numbers((3, 3 * units), dtype, 6)
    r, z, n = np.split(gates.astype(np.float64), 3, axis=-1)
    hn = np.split(h_gates.astype(np.float64), 3, axis=-1)[2]
    update = wdh * (p - n) * z * (1 - z)
    candidate = wdh * (1 - z) * (1 - n * n)
    reset = candidate * hn * r * (1 - r)
    got = run_op("GRUGatesGrad", [gates, h_gates, c_prev, dh])
    close(got[0], np.concatenate([reset, update, candidate], -1), dtype)
    close(got[1], np.concatenate([reset, update, candidate * r], -1), dtype)
    close(got[2], wdh * z, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 5, 5), (0, 2, 2)])
def test_matrices(dtype, shape):
    x = numbers(shape, dtype, 1) + 3 * np.eye(shape[-1], dtype=dtype)
    g = numbers(shape[:-2], dtype, 2)
    g = np.asarray(g)
    (wx,) = wide(x)
    determinant = np.linalg.det(wx).astype(dtype)
    (got,) = run_op("MatrixDeterminantGrad", [x, determinant, g])
    inverse = np.swapaxes(np.linalg.inv(wx), -1, -2)
    factor = determinant.astype(np.float64) * g
    np.testing.assert_allclose(
        got, inverse * factor[..., None, None], rtol=2e-4, atol=1e-3
    )

    low, grad = np.tril(x), np.tril(numbers(shape, dtype, 3))
    wl, wg = wide(low, grad)
    p = np.tril(np.swapaxes(wl, -1, -2) @ wg)
    p = p - 0.5 * p * np.eye(shape[-1])
    over = np.linalg.inv(wl)
    s = np.swapaxes(over, -1, -2) @ p @ over
    (got,) = run_op("CholeskyGrad", [low, grad])
    close(got, (s + np.swapaxes(s, -1, -2)) / 2, dtype)
