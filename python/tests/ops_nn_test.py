"""Operations of neural networks against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo

FLOATS = [np.float64, np.float32, np.float16]
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5, np.float16: 1e-2}
SHAPES = [(7,), (3, 1), (4, 10), (2, 3, 33), (5, 128), (0, 4)]


def numbers(shape, dtype, seed=1, scale=2.0):
    return (np.random.default_rng(seed).uniform(-1, 1, shape) * scale).astype(dtype)


def close(got, want, dtype):
    assert got.dtype == dtype
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(
        got.astype(np.float64), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("dtype", FLOATS + [np.int64, np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (2, 3, 4, 17), (0, 3)])
def test_bias_add(dtype, shape):
    x = np.random.default_rng(1).integers(0, 60, shape).astype(dtype)
    for axis, data_format in [(len(shape) - 1, "NHWC"), (1, "NCHW")]:
        bias = np.arange(shape[axis]).astype(dtype)
        along = [1] * len(shape)
        along[axis] = -1
        (got,) = run_op("BiasAdd", [x, bias], data_format=data_format)
        np.testing.assert_array_equal(got, x + bias.reshape(along))
        if np.issubdtype(dtype, np.floating):
            (got,) = run_op("BiasAddGrad", [x], data_format=data_format)
            others = tuple(i for i in range(len(shape)) if i != axis)
            close(got, x.astype(np.float64).sum(axis=others), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(dtype, shape):
    x = numbers(shape, dtype, scale=5)
    for axis in range(-1, len(shape)):
        if shape[axis] == 0:
            continue
        want = softmax(x.astype(np.float64), axis) if x.size else x
        (got,) = run_op("Softmax", [x], axis=axis)
        close(got, want, dtype)
        (got,) = run_op("LogSoftmax", [x], axis=axis)
        close(got, np.log(want), dtype)


def test_softmax_of_large_numbers():
    x = np.array([[1000.0, 1000.0, -np.inf]], np.float32)
    np.testing.assert_array_equal(run_op("Softmax", [x])[0], [[0.5, 0.5, 0]])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_losses(dtype, shape):
    logits = numbers(shape, dtype, 1, 4)
    p = softmax(logits.astype(np.float64)) if logits.size else logits
    labels = np.abs(numbers(shape, dtype, 2))
    wide = labels.astype(np.float64)
    loss, backprop = run_op("SoftmaxCrossEntropyWithLogits", [logits, labels])
    close(loss, -(wide * np.log(p)).sum(axis=-1), dtype)
    close(backprop, p * wide.sum(axis=-1, keepdims=True) - wide, dtype)
    for index in [np.int32, np.int64]:
        classes = np.random.default_rng(3).integers(0, shape[-1], shape[:-1])
        loss, backprop = run_op(
            "SparseSoftmaxCrossEntropyWithLogits", [logits, classes.astype(index)]
        )
        one_hot = np.eye(shape[-1])[classes]
        close(loss, -(one_hot * np.log(p)).sum(axis=-1), dtype)
        close(backprop, p - one_hot, dtype)
    (loss,) = run_op("SigmoidCrossEntropyWithLogits", [logits, labels])
    s = sigmoid(logits.astype(np.float64))
    close(loss, -(wide * np.log(s) + (1 - wide) * np.log(1 - s)), dtype)


def test_label_out_of_range():
    with pytest.raises(rondo.Error, match="label 3 of row 1 is out of range"):
        run_op(
            "SparseSoftmaxCrossEntropyWithLogits",
            [np.zeros((2, 3), np.float32), np.array([0, 3])],
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype):
    x = numbers((5, 33), dtype)
    random = np.random.default_rng(2).uniform(0, 1, x.shape).astype(dtype)
    (got,) = run_op("Dropout", [x, random], rate=0.25)
    close(got, np.where(random >= 0.25, x.astype(np.float64) / 0.75, 0), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (4, 10), (2, 3, 33), (300, 128), (0, 4)])
def test_layer_norm(dtype, shape):
    x = numbers(shape, dtype)
    scale, offset = numbers(shape[-1:], dtype, 2), numbers(shape[-1:], dtype, 3)
    y, mean, rstd = run_op("LayerNorm", [x, scale, offset], epsilon=1e-3)
    wide = x.astype(np.float64)
    m = wide.mean(axis=-1)
    r = 1 / np.sqrt(wide.var(axis=-1) + 1e-3)
    statistics = np.float64 if dtype == np.float64 else np.float32
    close(mean, m, statistics)
    close(rstd, r, statistics)
    close(y, (wide - m[..., None]) * r[..., None] * scale + offset, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 5, 7), (2, 33, 3, 3), (700, 20)])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_batch_norm(dtype, shape, data_format):
    axis = len(shape) - 1 if data_format == "NHWC" else 1
    others = tuple(i for i in range(len(shape)) if i != axis)
    along = [1] * len(shape)
    along[axis] = -1
    # A mean that is large beside the deviations must not spoil the variance.
    x = (numbers(shape, np.float64) + (20 if dtype != np.float16 else 0)).astype(dtype)
    n = (shape[axis],)
    scale, offset = numbers(n, dtype, 2), numbers(n, dtype, 3)
    wide = x.astype(np.float64)

    def normal(mean, variance):
        rstd = 1 / np.sqrt(variance.astype(np.float64) + 1e-2)
        scaled = (wide - mean.reshape(along)) * (rstd * scale).reshape(along)
        return scaled + offset.reshape(along)

    empty = np.zeros(0, dtype)
    y, mean, variance, _, _ = run_op(
        "FusedBatchNorm",
        [x, scale, offset, empty, empty],
        epsilon=1e-2,
        data_format=data_format,
        is_training=True,
    )
    tolerance = {np.float64: 1e-10, np.float32: 1e-4, np.float16: 2e-2}[dtype]
    want = normal(wide.mean(axis=others), wide.var(axis=others))
    np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(mean, wide.mean(axis=others), rtol=tolerance, atol=1e-3)
    np.testing.assert_allclose(variance, wide.var(axis=others, ddof=1), rtol=tolerance)
    given = numbers(n, dtype, 4), np.abs(numbers(n, dtype, 5)) + dtype(0.1)
    y = run_op(
        "FusedBatchNorm",
        [x, scale, offset, *given],
        epsilon=1e-2,
        data_format=data_format,
        is_training=False,
    )[0]
    np.testing.assert_allclose(y, normal(*given), rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_lrn(dtype):
    x = numbers((2, 3, 2, 9), dtype)
    wide = x.astype(np.float64)
    for radius, beta in [(0, 0.5), (2, 0.75), (20, 0.3)]:
        sums = np.zeros(x.shape)
        for i in range(9):
            sums[..., i] = (wide[..., max(0, i - radius) : i + radius + 1] ** 2).sum(
                axis=-1
            )
        (got,) = run_op("LRN", [x], depth_radius=radius, bias=1.5, alpha=0.3, beta=beta)
        close(got, wide / (1.5 + 0.3 * sums) ** beta, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("units", [1, 9, 32])
def test_cells(dtype, units):
    x, h = numbers((3, 4 * units), dtype, 1), numbers((3, 4 * units), dtype, 2)
    state = numbers((3, units), dtype, 3)
    i, j, f, o = np.split(x.astype(np.float64) + h, 4, axis=-1)
    want = sigmoid(f + 0.5) * state + sigmoid(i) * np.tanh(j)
    got_h, got_c, _ = run_op("LSTMGates", [x, h, state], forget_bias=0.5)
    close(got_c, want, dtype)
    close(got_h, sigmoid(o) * np.tanh(want), dtype)
    x, h = x[:, : 3 * units], h[:, : 3 * units]
    xr, xz, xn = np.split(x.astype(np.float64), 3, axis=-1)
    hr, hz, hn = np.split(h.astype(np.float64), 3, axis=-1)
    z = sigmoid(xz + hz)
    want = z * state + (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn)
    close(run_op("GRUGates", [x, h, state])[0], want, dtype)
