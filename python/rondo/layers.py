"""Layers with variables of their own, as functions of tensors."""

from . import initializers as _initializers
from .errors import InvalidArgumentError
from .framework.build import convert_to_tensor
from .framework.graph import GraphKeys
from .framework.variable_scope import get_variable, variable_scope
from .ops import array as _array
from .ops import control as _control
from .ops import matrix as _matrix
from .ops import nn as _nn


class _Formats(dict):
    def __missing__(self, name):
        raise InvalidArgumentError(
            f"data_format is {name!r}, expected one of {', '.join(self)}"
        )


_FORMATS = _Formats(
    channels_last="NHWC", channels_first="NCHW", NHWC="NHWC", NCHW="NCHW"
)


def _extent(x, axis, layer):
    rank = x.shape.ndims
    if rank is not None and not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"{layer}: its input has shape {x.shape}, which has no axis {axis}"
        )
    extent = x.shape[axis] if rank is not None else None
    if extent is None:
        raise InvalidArgumentError(
            f"{layer}: axis {axis} of its input, of shape {x.shape}, must be known"
        )
    return extent


def _bias(count, x, initializer, regularizer=None, trainable=True):
    start = initializer or _initializers.zeros()
    return get_variable("bias", [count], x.dtype, start, regularizer, trainable)


def dense(
    inputs,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=None,
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """activation(inputs kernel + bias), over the last axis."""
    x = convert_to_tensor(inputs)
    with variable_scope(name, "dense", reuse=reuse):
        depth = _extent(x, -1, "dense")
        kernel = get_variable(
            "kernel",
            [depth, units],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
        )
        if x.shape.ndims == 2:
            y = _matrix.matmul(x, kernel)
        else:
            shape = _array.shape(x)
            y = _matrix.matmul(_array.reshape(x, [-1, depth]), kernel)
            y = _array.reshape(y, _array.concat([shape[:-1], [units]], 0))
            y.set_shape([*x.shape[:-1], units])
        if use_bias:
            bias = _bias(units, x, bias_initializer, bias_regularizer, trainable)
            y = _nn.bias_add(y, bias)
        return y if activation is None else activation(y)


def conv2d(
    inputs,
    filters,
    kernel_size,
    strides=(1, 1),
    padding="valid",
    data_format="channels_last",
    dilation_rate=(1, 1),
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=None,
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
    groups=1,
):
    """activation(the convolution of images + bias)."""
    x = convert_to_tensor(inputs)
    layout = _FORMATS[data_format]
    with variable_scope(name, "conv2d", reuse=reuse):
        channels = _extent(x, 3 if layout == "NHWC" else 1, "conv2d")
        size = _nn._pair(kernel_size, layout, "kernel_size")
        kernel = get_variable(
            "kernel",
            [*size, channels // groups, filters],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
        )
        y = _nn.conv2d(x, kernel, strides, padding, layout, dilation_rate, groups)
        if use_bias:
            bias = _bias(filters, x, bias_initializer, bias_regularizer, trainable)
            y = _nn.bias_add(y, bias, layout)
        return y if activation is None else activation(y)


def conv1d(
    inputs,
    filters,
    kernel_size,
    strides=1,
    padding="valid",
    activation=None,
    name=None,
    **options,
):
    """activation(the convolution of sequences [batch, steps, channels] + bias)."""
    size, step = (x if isinstance(x, int) else x[0] for x in (kernel_size, strides))
    images = _array.expand_dims(convert_to_tensor(inputs), 1)
    y = conv2d(
        images, filters, [1, size], [1, step], padding, activation=activation,
        name=name, **options,
    )  # fmt: skip
    return _array.squeeze(y, [1])


def conv2d_transpose(
    inputs,
    filters,
    kernel_size,
    strides=(1, 1),
    padding="valid",
    data_format="channels_last",
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=None,
    kernel_regularizer=None,
    bias_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """activation(the transpose of a convolution + bias): images that grow."""
    x = convert_to_tensor(inputs)
    layout = _FORMATS[data_format]
    first = 1 if layout == "NHWC" else 2
    with variable_scope(name, "conv2d_transpose", reuse=reuse):
        channels = _extent(x, 3 if layout == "NHWC" else 1, "conv2d_transpose")
        size = _nn._pair(kernel_size, layout, "kernel_size")
        steps = _nn._pair(strides, layout, "strides")
        kernel = get_variable(
            "kernel",
            [*size, filters, channels],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
        )
        image = []
        for axis in (0, 1):
            extent = x.shape[first + axis]
            if extent is None:
                extent = _array.shape(x)[first + axis]
            grown = extent * steps[axis]
            if padding.lower() == "valid":
                grown = grown + max(size[axis] - steps[axis], 0)
            image.append(grown)
        batch = _array.shape(x)[0] if x.shape[0] is None else x.shape[0]
        whole = [batch, *image, filters]
        if layout == "NCHW":
            whole = [batch, filters, *image]
        y = _nn.conv2d_transpose(x, kernel, whole, steps, padding.upper(), layout)
        known = [e if isinstance(e, int) else None for e in whole[1:]]
        y.set_shape([x.shape[0], *known])
        if use_bias:
            bias = _bias(filters, x, bias_initializer, bias_regularizer, trainable)
            y = _nn.bias_add(y, bias, layout)
        return y if activation is None else activation(y)


def separable_conv2d(
    inputs,
    filters,
    kernel_size,
    strides=(1, 1),
    padding="valid",
    data_format="channels_last",
    dilation_rate=(1, 1),
    depth_multiplier=1,
    activation=None,
    use_bias=True,
    depthwise_initializer=None,
    pointwise_initializer=None,
    bias_initializer=None,
    name=None,
    reuse=None,
):
    """activation(a convolution of each channel, then one of each point, + bias)."""
    x = convert_to_tensor(inputs)
    layout = _FORMATS[data_format]
    with variable_scope(name, "separable_conv2d", reuse=reuse):
        channels = _extent(x, 3 if layout == "NHWC" else 1, "separable_conv2d")
        size = _nn._pair(kernel_size, layout, "kernel_size")
        depthwise = get_variable(
            "depthwise_kernel",
            [*size, channels, depth_multiplier],
            x.dtype,
            depthwise_initializer,
        )
        pointwise = get_variable(
            "pointwise_kernel",
            [1, 1, channels * depth_multiplier, filters],
            x.dtype,
            pointwise_initializer,
        )
        y = _nn.depthwise_conv2d(
            x, depthwise, strides, padding, dilation_rate, data_format=layout
        )
        y = _nn.conv2d(y, pointwise, 1, "VALID", layout)
        if use_bias:
            y = _nn.bias_add(y, _bias(filters, x, bias_initializer), layout)
        return y if activation is None else activation(y)


def max_pooling1d(inputs, pool_size, strides, padding="valid", name=None):
    """The largest element of each window of sequences."""
    size, step = (x if isinstance(x, int) else x[0] for x in (pool_size, strides))
    images = _array.expand_dims(convert_to_tensor(inputs), 1)
    return _array.squeeze(
        _nn.max_pool(images, [1, size], [1, step], padding), [1], name
    )


def max_pooling2d(
    inputs,
    pool_size,
    strides,
    padding="valid",
    data_format="channels_last",
    name=None,
):
    """The largest element of each window."""
    layout = _FORMATS[data_format]
    return _nn.max_pool(inputs, pool_size, strides, padding, layout, name)


def average_pooling2d(
    inputs,
    pool_size,
    strides,
    padding="valid",
    data_format="channels_last",
    name=None,
):
    """The average of each window."""
    layout = _FORMATS[data_format]
    return _nn.avg_pool(inputs, pool_size, strides, padding, layout, name)


def flatten(inputs, name=None):
    """All axes but the first as one."""
    x = convert_to_tensor(inputs)
    if x.shape.ndims is None:
        raise InvalidArgumentError("flatten: the rank of its input is not known")
    rest = x.shape[1:].num_elements()
    if rest is not None:
        return _array.reshape(x, [-1, rest], name)
    batch = _array.shape(x)[0] if x.shape[0] is None else x.shape[0]
    return _array.reshape(x, [batch, -1], name)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Elements set to 0 with probability `rate` while training, which may be a
    bool tensor."""

    def drop():
        return _nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed)

    if hasattr(training, "graph"):
        return _control.cond(training, drop, lambda: _array.identity(inputs), name=name)
    return drop() if training else _array.identity(inputs, name)


def batch_normalization(
    inputs,
    axis=-1,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=None,
    gamma_initializer=None,
    moving_mean_initializer=None,
    moving_variance_initializer=None,
    training=False,
    trainable=True,
    name=None,
    reuse=None,
):
    """Channels normalised over all other axes: by the batch while training, else by
    moving averages, whose updates are in the collection GraphKeys.UPDATE_OPS.
    `training` may be a bool tensor."""
    x = convert_to_tensor(inputs)
    rank = x.shape.ndims
    axis = axis + rank if rank and axis < 0 else axis
    if not (rank == 4 and axis in (1, 3)) and not (rank == 2 and axis == 1):
        raise InvalidArgumentError(
            f"batch_normalization: axis {axis} of an input of shape {x.shape}; "
            "expected the channels of images or of a matrix"
        )
    channels = _extent(x, axis, "batch_normalization")

    def variable(what, initializer, learned):
        return get_variable(
            what, [channels], x.dtype, initializer, trainable=learned and trainable
        )

    zeros, ones = _initializers.zeros, _initializers.ones
    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = (
            variable("gamma", gamma_initializer or ones(), True)
            if scale
            else _array.ones([channels], x.dtype)
        )
        beta = (
            variable("beta", beta_initializer or zeros(), True)
            if center
            else _array.zeros([channels], x.dtype)
        )
        mean = variable("moving_mean", moving_mean_initializer or zeros(), False)
        variance = variable(
            "moving_variance", moving_variance_initializer or ones(), False
        )
        images = x if rank == 4 else _array.reshape(x, [-1, 1, 1, channels])
        layout = "NCHW" if rank == 4 and axis == 1 else "NHWC"

        def normalised(by_batch):
            return _nn.fused_batch_norm(
                images,
                gamma,
                beta,
                None if by_batch else mean,
                None if by_batch else variance,
                epsilon,
                layout,
                by_batch,
            )

        decided = hasattr(training, "graph")
        if decided:

            def averages():
                made, _, _ = normalised(False)
                # The averages stay as they are.
                return [made, _array.identity(mean), _array.identity(variance)]

            y, batch_mean, batch_variance = _control.cond(
                training, lambda: list(normalised(True)), averages
            )
            y.set_shape(images.shape)
        else:
            y, batch_mean, batch_variance = normalised(bool(training))
        if decided or training:
            for average, now in ((mean, batch_mean), (variance, batch_variance)):
                step = (average - now) * (1 - momentum)
                x.graph.add_to_collection(
                    GraphKeys.UPDATE_OPS, average.assign_sub(step).op
                )
        return y if rank == 4 else _array.reshape(y, [-1, channels])


__all__ = [
    "average_pooling2d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "separable_conv2d",
]
