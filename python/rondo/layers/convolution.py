"""Convolutions with kernels and biases of their own."""

from ..framework.build import convert_to_tensor
from ..framework.variable_scope import get_variable, variable_scope
from ..ops import array, nn
from .arguments import FORMATS, bias_of, extent_of, height_axis, one_number


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
    layout = FORMATS[data_format]
    with variable_scope(name, "conv2d", reuse=reuse):
        channels = extent_of(x, 3 if layout == "NHWC" else 1, "conv2d")
        size = nn._pair(kernel_size, layout, "kernel_size")
        kernel = get_variable(
            "kernel",
            [*size, channels // groups, filters],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
        )
        y = nn.conv2d(x, kernel, strides, padding, layout, dilation_rate, groups)
        if use_bias:
            bias = bias_of(filters, x, bias_initializer, bias_regularizer, trainable)
            y = nn.bias_add(y, bias, layout)
        return y if activation is None else activation(y)


def conv1d(
    inputs,
    filters,
    kernel_size,
    strides=1,
    padding="valid",
    data_format="channels_last",
    dilation_rate=1,
    activation=None,
    name=None,
    reuse=None,
    **options,
):
    """activation(the convolution of sequences [batch, steps, channels] + bias)."""
    size, step, rate = map(one_number, (kernel_size, strides, dilation_rate))
    height = height_axis(data_format)
    images = array.expand_dims(convert_to_tensor(inputs), height)
    with variable_scope(name, "conv1d", reuse=reuse) as scope:
        y = conv2d(
            images, filters, [1, size], [1, step], padding, data_format, [1, rate],
            activation, name=scope, **options,
        )  # fmt: skip
    return array.squeeze(y, [height])


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
    layout = FORMATS[data_format]
    first = 1 if layout == "NHWC" else 2
    with variable_scope(name, "conv2d_transpose", reuse=reuse):
        channels = extent_of(x, 3 if layout == "NHWC" else 1, "conv2d_transpose")
        size = nn._pair(kernel_size, layout, "kernel_size")
        steps = nn._pair(strides, layout, "strides")
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
                extent = array.shape(x)[first + axis]
            grown = extent * steps[axis]
            if padding.lower() == "valid":
                grown = grown + max(size[axis] - steps[axis], 0)
            image.append(grown)
        batch = array.shape(x)[0] if x.shape[0] is None else x.shape[0]
        whole = [batch, *image, filters]
        if layout == "NCHW":
            whole = [batch, filters, *image]
        y = nn.conv2d_transpose(x, kernel, whole, steps, padding.upper(), layout)
        known = [e if isinstance(e, int) else None for e in whole[1:]]
        y.set_shape([x.shape[0], *known])
        if use_bias:
            bias = bias_of(filters, x, bias_initializer, bias_regularizer, trainable)
            y = nn.bias_add(y, bias, layout)
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
    layout = FORMATS[data_format]
    with variable_scope(name, "separable_conv2d", reuse=reuse):
        channels = extent_of(x, 3 if layout == "NHWC" else 1, "separable_conv2d")
        size = nn._pair(kernel_size, layout, "kernel_size")
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
        y = nn.depthwise_conv2d(
            x, depthwise, strides, padding, dilation_rate, data_format=layout
        )
        y = nn.conv2d(y, pointwise, 1, "VALID", layout)
        if use_bias:
            y = nn.bias_add(y, bias_of(filters, x, bias_initializer), layout)
        return y if activation is None else activation(y)
