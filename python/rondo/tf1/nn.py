"""tf.nn, with TensorFlow 1's names of arguments."""

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ..nn import *  # noqa: F403
from ..ops import nn as _nn
from ..ops import rnn as _rnn
from . import rnn_cell  # noqa: F401
from ._missing import getattr_of
from ._old_names import accepting
from .math_ops import log_sigmoid  # noqa: F401

__getattr__ = getattr_of("tf.nn")

_IGNORED = ("use_cudnn_on_gpu", "validate_indices")

softmax = accepting(_nn.softmax, dim="axis", order=("logits", "axis", "name"))
log_softmax = accepting(_nn.log_softmax, dim="axis", order=("logits", "axis", "name"))
l2_normalize = accepting(_nn.l2_normalize, dim="axis")
conv2d = accepting(
    _nn.conv2d,
    ignored=_IGNORED,
    order=(
        "input", "filter", "strides", "padding", "use_cudnn_on_gpu", "data_format",
        "dilations", "name",
    ),
)  # fmt: skip
depthwise_conv2d = accepting(_nn.depthwise_conv2d, ignored=_IGNORED)
moments = accepting(
    _nn.moments,
    ignored=("shift",),
    keepdims="keep_dims",
    order=("x", "axes", "shift", "name", "keep_dims"),
)
lrn = accepting(_nn.lrn, ignored=_IGNORED)
local_response_normalization = lrn
max_pool = _nn.max_pool
avg_pool = _nn.avg_pool
dropout = _nn.dropout
bias_add = _nn.bias_add
silu = swish = _nn.swish


def softmax_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, dim=-1, name=None
):
    """One loss per row; labels are distributions, which learn nothing."""
    _only_named(_sentinel)
    labels = rd.stop_gradient(_convert_like(labels, logits))
    return softmax_cross_entropy_with_logits_v2(None, labels, logits, dim, name)


def softmax_cross_entropy_with_logits_v2(
    _sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None
):
    """One loss per row; labels are distributions, which have a gradient too."""
    _only_named(_sentinel)
    logits = _convert(logits)
    axis = dim if axis is None else axis
    if axis not in (-1, (logits.shape.ndims or 0) - 1):
        raise InvalidArgumentError(
            f"softmax_cross_entropy_with_logits: axis {axis}; the classes must be the "
            "last axis: transpose labels and logits"
        )
    labels = _convert_like(labels, logits)
    return _nn.softmax_cross_entropy_with_logits(labels, logits, name)


def _convert_like(labels, logits):
    logits = _convert(logits)
    labels = _convert(labels, None if hasattr(labels, "graph") else logits.dtype)
    return rd.cast(labels, logits.dtype)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, name=None
):
    """One loss per row; labels are the right classes."""
    _only_named(_sentinel)
    return _nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name)


def sigmoid_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, name=None
):
    """One loss per element."""
    _only_named(_sentinel)
    return _nn.sigmoid_cross_entropy_with_logits(labels, logits, name)


def weighted_cross_entropy_with_logits(targets, logits, pos_weight, name=None):
    """As sigmoid_cross_entropy_with_logits, with pos_weight times the loss of what
    is true."""
    logits = _convert(logits)
    targets = rd.cast(_convert(targets), logits.dtype)
    weight = 1.0 + (pos_weight - 1.0) * targets
    rest = rd.log1p(rd.exp(-rd.abs(logits))) + _nn.relu(-logits)
    return rd.add((1.0 - targets) * logits, weight * rest, name)


def _only_named(sentinel):
    if sentinel is not None:
        raise InvalidArgumentError(
            "it takes its arguments by name: labels=..., logits=..."
        )


def embedding_lookup(
    params, ids, partition_strategy="mod", name=None, validate_indices=True,
    max_norm=None,
):  # fmt: skip
    """The rows that ids name; their gradient is sparse."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise InvalidArgumentError(
                "embedding_lookup: a matrix in several parts; join them into one"
            )
        params = params[0]
    rows = _nn.embedding_lookup(params, ids, name)
    return rows if max_norm is None else rd.clip_by_norm(rows, max_norm, axes=[-1])


def xw_plus_b(x, weights, biases, name=None):
    """x weights + biases."""
    return _nn.bias_add(rd.matmul(x, weights), biases, name=name)


def relu_layer(x, weights, biases, name=None):
    """relu(x weights + biases)."""
    return _nn.relu(xw_plus_b(x, weights, biases), name)


def softsign(features, name=None):
    """x / (1 + |x|)."""
    x = _convert(features)
    return rd.divide(x, 1.0 + rd.abs(x), name)


def selu(features, name=None):
    """The scaled exponential linear unit."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return rd.multiply(_nn.elu(features, alpha), scale, name)


def zero_fraction(value, name=None):
    """How many of the elements are 0."""
    value = _convert(value)
    zero = rd.equal(value, value.dtype.as_numpy_dtype(0))
    return rd.reduce_mean(rd.cast(zero, "float32"), name=name)


def batch_norm_with_global_normalization(
    t, m, v, beta, gamma, variance_epsilon, scale_after_normalization, name=None
):
    """An old form of batch_normalization."""
    scale = gamma if scale_after_normalization else None
    return _nn.batch_normalization(t, m, v, beta, scale, variance_epsilon, name)


def conv1d(
    value, filters, stride, padding, use_cudnn_on_gpu=None, data_format="NHWC",
    name=None,
):  # fmt: skip
    """The convolution of sequences [batch, steps, channels]."""
    if data_format not in (None, "NHWC", "NWC"):
        raise InvalidArgumentError(f"conv1d: data_format {data_format!r}")
    images = rd.expand_dims(value, 1)
    y = _nn.conv2d(images, rd.expand_dims(filters, 0), [1, stride], padding)
    return rd.squeeze(y, [1], name)


def atrous_conv2d(value, filters, rate, padding, name=None):
    """A convolution with holes of `rate` in its filter."""
    return _nn.conv2d(value, filters, 1, padding, dilations=rate, name=name)


def separable_conv2d(
    input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None,
    data_format="NHWC",
):  # fmt: skip
    """A convolution of each channel, then one of each point."""
    data_format = data_format or "NHWC"
    y = _nn.depthwise_conv2d(
        input, depthwise_filter, strides, padding, rate or 1, data_format=data_format
    )
    return _nn.conv2d(y, pointwise_filter, 1, "VALID", data_format, name=name)


bidirectional_rnn = _rnn.static_bidirectional_rnn
rnn = _rnn.static_rnn
