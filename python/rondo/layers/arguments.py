"""What layers share: the order of axes, extents, biases."""

from .. import initializers
from ..errors import InvalidArgumentError
from ..framework.variable_scope import get_variable


class _Formats(dict):
    def __missing__(self, name):
        raise InvalidArgumentError(
            f"data_format is {name!r}, expected one of {', '.join(self)}"
        )


FORMATS = _Formats(
    channels_last="NHWC", channels_first="NCHW", NHWC="NHWC", NCHW="NCHW"
)


def extent_of(x, axis, layer):
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


def bias_of(count, x, initializer, regularizer=None, trainable=True):
    start = initializer or initializers.zeros()
    return get_variable("bias", [count], x.dtype, start, regularizer, trainable)


def one_number(x):
    return x if isinstance(x, int) else x[0]


def height_axis(data_format):
    """Where sequences get a height of 1, which makes images of them."""
    return 1 if FORMATS[data_format] == "NHWC" else 2
