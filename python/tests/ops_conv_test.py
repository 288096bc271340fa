"""Convolutions and pooling against loops over NumPy arrays."""

import numpy as np
import pytest
from graph_ops import run_op

# Results are sums of a few hundred products of numbers around 1.
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4, np.float16: 2e-2}
DTYPES = list(TOLERANCE)
FORMATS = ["NHWC", "NCHW"]


def positions(extent, size, stride, dilation, padding, explicit):
    """(number of positions, padding before) in one direction."""
    reach = (size - 1) * dilation + 1
    if padding == "SAME":
        out = -(-extent // stride)
        return out, max(0, (out - 1) * stride + reach - extent) // 2
    before, after = explicit if padding == "EXPLICIT" else (0, 0)
    return (extent + before + after - reach) // stride + 1, before


class Windows:
    """All pairs of a position of the window and an element of it that is not
    padding, as (i, j, kh, kw, row, column)."""

    def __init__(self, shape, size, attrs):
        explicit = attrs.get("explicit_paddings") or [0, 0, 0, 0]
        strides = attrs.get("strides", [1, 1])
        dilations = attrs.get("dilations", [1, 1])
        axes = [
            positions(
                shape[d],
                size[d],
                strides[d],
                dilations[d],
                attrs.get("padding", "VALID"),
                explicit[2 * d : 2 * d + 2],
            )
            for d in (0, 1)
        ]
        self.out = [axis[0] for axis in axes]
        self.all = [
            (i, j, kh, kw, row, column)
            for i in range(self.out[0])
            for j in range(self.out[1])
            for kh in range(size[0])
            for kw in range(size[1])
            for row in [i * strides[0] - axes[0][1] + kh * dilations[0]]
            for column in [j * strides[1] - axes[1][1] + kw * dilations[1]]
            if 0 <= row < shape[0] and 0 <= column < shape[1]
        ]


def dense_filter(filter, groups):
    """The filter of one group that does the same: zeros between groups."""
    kh, kw, each, out = filter.shape
    dense = np.zeros((kh, kw, each * groups, out), filter.dtype)
    per = out // groups
    for g in range(groups):
        dense[:, :, g * each : (g + 1) * each, g * per : (g + 1) * per] = filter[
            :, :, :, g * per : (g + 1) * per
        ]
    return dense


def conv(x, filter, attrs):
    windows = Windows(x.shape[1:3], filter.shape[:2], attrs)
    y = np.zeros((x.shape[0], *windows.out, filter.shape[3]))
    for i, j, kh, kw, row, column in windows.all:
        y[:, i, j] += x[:, row, column] @ filter[kh, kw]
    return y


def conv_input_grad(shape, filter, grad, attrs):
    x = np.zeros(shape)
    for i, j, kh, kw, row, column in Windows(shape[1:3], filter.shape[:2], attrs).all:
        x[:, row, column] += grad[:, i, j] @ filter[kh, kw].T
    return x


def conv_filter_grad(x, shape, grad, attrs):
    filter = np.zeros(shape)
    for i, j, kh, kw, row, column in Windows(x.shape[1:3], shape[:2], attrs).all:
        filter[kh, kw] += x[:, row, column].T @ grad[:, i, j]
    return filter


def of_groups(dense, groups):
    """What belongs to the groups of a dense filter's gradient."""
    kh, kw, channels, out = dense.shape
    each, per = channels // groups, out // groups
    return np.concatenate(
        [
            dense[:, :, g * each : (g + 1) * each, g * per : (g + 1) * per]
            for g in range(groups)
        ],
        axis=3,
    )


def to_format(x, data_format):
    return x.transpose(0, 3, 1, 2) if data_format == "NCHW" else x


def from_format(x, data_format):
    return x.transpose(0, 2, 3, 1) if data_format == "NCHW" else x


def check(found, expected, dtype):
    assert found.dtype == dtype
    assert found.shape == expected.shape
    error = np.abs(found.astype(np.float64) - expected)
    assert np.all(error <= TOLERANCE[dtype] * (1 + np.abs(expected)))


def random_attrs(rng, dilations=True):
    attrs = {
        "strides": [int(s) for s in rng.integers(1, 4, 2)],
        "padding": str(rng.choice(["SAME", "VALID", "EXPLICIT"])),
    }
    if dilations:
        attrs["dilations"] = [int(d) for d in rng.integers(1, 3, 2)]
    return attrs


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(8))
def test_conv2d(seed, dtype, data_format):
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([1, 1, 2, 3]))
    each, per = (int(c) for c in rng.choice([1, 2, 3, 16], 2))
    attrs = random_attrs(rng)
    if attrs["padding"] == "EXPLICIT":
        attrs["explicit_paddings"] = [int(p) for p in rng.integers(0, 4, 4)]
    size = [int(k) for k in rng.integers(1, 4, 2)]
    x = rng.normal(
        size=(int(rng.integers(1, 4)), *rng.integers(6, 10, 2), each * groups)
    )
    filter = rng.normal(size=(*size, each, per * groups))
    x, filter = x.astype(dtype), filter.astype(dtype)
    wide_x = x.astype(np.float64)
    wide_filter = dense_filter(filter.astype(np.float64), groups)
    expected = conv(wide_x, wide_filter, attrs)
    args = dict(attrs, groups=groups, data_format=data_format)

    image = to_format(x, data_format)
    (y,) = run_op("Conv2D", [image, filter], **args)
    check(from_format(y, data_format), expected, dtype)

    grad = rng.normal(size=expected.shape).astype(dtype)
    wide_grad = grad.astype(np.float64)
    grad = to_format(grad, data_format)
    (back,) = run_op(
        "Conv2DBackpropInput", [np.array(image.shape), filter, grad], **args
    )
    check(
        from_format(back, data_format),
        conv_input_grad(x.shape, wide_filter, wide_grad, attrs),
        dtype,
    )
    (back,) = run_op(
        "Conv2DBackpropFilter",
        [image, np.array(filter.shape, np.int32), grad],
        **args,
    )
    dense = conv_filter_grad(wide_x, wide_filter.shape, wide_grad, attrs)
    check(back, of_groups(dense, groups), dtype)


@pytest.mark.parametrize("winograd", [True, False])
@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("data_format", FORMATS)
def test_conv2d_winograd(data_format, size, winograd):
    rng = np.random.default_rng(5)
    attrs = {"padding": "SAME"}
    x = rng.normal(size=(2, 13, 10, 32)).astype(np.float32)
    filter = rng.normal(size=(size, size, 32, 48)).astype(np.float32)
    expected = conv(x.astype(np.float64), filter, attrs)
    (y,) = run_op(
        "Conv2D",
        [to_format(x, data_format), filter],
        data_format=data_format,
        winograd=winograd,
        **attrs,
    )
    error = np.abs(from_format(y, data_format) - expected).max()
    assert error / np.abs(expected).max() < (1e-5 if winograd else 2e-6)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(4))
def test_depthwise_conv2d(seed, dtype, data_format):
    rng = np.random.default_rng(seed)
    channels, multiplier = (int(c) for c in rng.choice([1, 2, 3, 16], 2))
    attrs = random_attrs(rng)
    if attrs["padding"] == "EXPLICIT":
        attrs["explicit_paddings"] = [int(p) for p in rng.integers(0, 3, 4)]
    size = [int(k) for k in rng.integers(1, 4, 2)]
    x = rng.normal(size=(2, *rng.integers(6, 9, 2), channels)).astype(dtype)
    filter = rng.normal(size=(*size, channels, multiplier)).astype(dtype)
    wide_x = x.astype(np.float64)
    wide_filter = dense_filter(
        filter.astype(np.float64).reshape(*size, 1, channels * multiplier), channels
    )
    expected = conv(wide_x, wide_filter, attrs)
    args = dict(attrs, data_format=data_format)

    image = to_format(x, data_format)
    (y,) = run_op("DepthwiseConv2D", [image, filter], **args)
    check(from_format(y, data_format), expected, dtype)

    grad = rng.normal(size=expected.shape).astype(dtype)
    wide_grad = grad.astype(np.float64)
    grad = to_format(grad, data_format)
    (back,) = run_op(
        "DepthwiseConv2DBackpropInput", [np.array(image.shape), filter, grad], **args
    )
    check(
        from_format(back, data_format),
        conv_input_grad(x.shape, wide_filter, wide_grad, attrs),
        dtype,
    )
    (back,) = run_op(
        "DepthwiseConv2DBackpropFilter", [image, np.array(filter.shape), grad], **args
    )
    dense = conv_filter_grad(wide_x, wide_filter.shape, wide_grad, attrs)
    check(back, of_groups(dense, channels).reshape(filter.shape), dtype)


def pool_case(rng, channels):
    attrs = random_attrs(rng, dilations=False)
    attrs["ksize"] = [int(k) for k in rng.integers(1, 4, 2)]
    if attrs["padding"] == "EXPLICIT":
        attrs["explicit_paddings"] = [
            int(rng.integers(0, attrs["ksize"][side // 2])) for side in range(4)
        ]
    shape = (
        int(rng.integers(1, 4)),
        *(int(e) for e in rng.integers(5, 9, 2)),
        channels,
    )
    return shape, attrs, Windows(shape[1:3], attrs["ksize"], attrs)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize(
    "dtype", [*DTYPES, np.int64, np.int32, np.int16, np.int8, np.uint8]
)
@pytest.mark.parametrize("seed", range(5))
def test_max_pool(seed, dtype, data_format):
    rng = np.random.default_rng(seed)
    shape, attrs, windows = pool_case(rng, int(rng.choice([1, 3, 64, 70])))
    x = rng.integers(0, 100, shape).astype(dtype)
    y = np.full((shape[0], *windows.out, shape[3]), -1, np.float64)
    where = np.zeros(y.shape, np.uint8)
    for i, j, kh, kw, row, column in windows.all:
        more = x[:, row, column] > y[:, i, j]
        y[:, i, j] = np.where(more, x[:, row, column], y[:, i, j])
        where[:, i, j] = np.where(more, kh * attrs["ksize"][1] + kw, where[:, i, j])
    args = dict(attrs, data_format=data_format)
    found, places = run_op("MaxPool", [to_format(x, data_format)], **args)
    assert found.dtype == dtype
    np.testing.assert_array_equal(from_format(found, data_format), y)
    np.testing.assert_array_equal(from_format(places, data_format), where)

    grad = rng.integers(0, 5, y.shape).astype(dtype)
    back = np.zeros(shape)
    pick = np.zeros(y.shape)
    for i, j, kh, kw, row, column in windows.all:
        here = where[:, i, j] == kh * attrs["ksize"][1] + kw
        back[:, row, column] += np.where(here, grad[:, i, j], 0)
        pick[:, i, j] += np.where(here, x[:, row, column], 0)
    input_shape = np.array(to_format(x, data_format).shape)
    (found,) = run_op(
        "MaxPoolGrad", [input_shape, places, to_format(grad, data_format)], **args
    )
    assert found.dtype == dtype
    np.testing.assert_array_equal(from_format(found, data_format), back)
    (found,) = run_op("MaxPoolPick", [to_format(x, data_format), places], **args)
    np.testing.assert_array_equal(from_format(found, data_format), pick)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(5))
def test_avg_pool(seed, dtype, data_format):
    rng = np.random.default_rng(seed)
    shape, attrs, windows = pool_case(rng, int(rng.choice([1, 3, 64, 70])))
    x = rng.normal(size=shape).astype(dtype)
    sums = np.zeros((shape[0], *windows.out, shape[3]))
    counts = np.zeros(sums.shape)
    for i, j, _, _, row, column in windows.all:
        sums[:, i, j] += x[:, row, column]
        counts[:, i, j] += 1
    args = dict(attrs, data_format=data_format)
    (found,) = run_op("AvgPool", [to_format(x, data_format)], **args)
    check(from_format(found, data_format), sums / counts, dtype)

    grad = rng.normal(size=sums.shape).astype(dtype)
    back = np.zeros(shape)
    for i, j, _, _, row, column in windows.all:
        back[:, row, column] += grad[:, i, j] / counts[:, i, j]
    input_shape = np.array(to_format(x, data_format).shape, np.int32)
    (found,) = run_op(
        "AvgPoolGrad", [input_shape, to_format(grad, data_format)], **args
    )
    check(from_format(found, data_format), back, dtype)
