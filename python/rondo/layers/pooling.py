"""The largest element, or the average, of windows."""

from ..framework.build import convert_to_tensor
from ..ops import array, nn
from .arguments import FORMATS, height_axis, one_number


def max_pooling1d(
    inputs,
    pool_size,
    strides,
    padding="valid",
    data_format="channels_last",
    name=None,
):
    """The largest element of each window of sequences."""
    size, step = map(one_number, (pool_size, strides))
    height = height_axis(data_format)
    images = array.expand_dims(convert_to_tensor(inputs), height)
    y = max_pooling2d(images, [1, size], [1, step], padding, data_format)
    return array.squeeze(y, [height], name)


def max_pooling2d(
    inputs,
    pool_size,
    strides,
    padding="valid",
    data_format="channels_last",
    name=None,
):
    """The largest element of each window."""
    layout = FORMATS[data_format]
    return nn.max_pool(inputs, pool_size, strides, padding, layout, name)


def average_pooling2d(
    inputs,
    pool_size,
    strides,
    padding="valid",
    data_format="channels_last",
    name=None,
):
    """The average of each window."""
    layout = FORMATS[data_format]
    return nn.avg_pool(inputs, pool_size, strides, padding, layout, name)
