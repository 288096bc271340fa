"""Layers of neural networks: activations, convolutions, losses, norms, cells."""

import math as _math

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, graph_of, one, several, shape_tensor
from . import array, math, matrix
from .math import sigmoid, tanh


def relu(features, name=None):
    """x where it is above zero, 0 elsewhere."""
    return one("Relu", [features], name=name)


def relu6(features, name=None):
    """min(max(x, 0), 6)."""
    return math.clip_by_value(features, 0.0, 6.0, name)


def leaky_relu(features, alpha=0.2, name=None):
    """x where it is above zero, alpha x elsewhere."""
    return one("LeakyRelu", [features], {"alpha": alpha}, name)


def elu(features, alpha=1.0, name=None):
    """x where it is above zero, alpha (e^x - 1) elsewhere."""
    return one("Elu", [features], {"alpha": alpha}, name)


def gelu(features, approximate=False, name=None):
    """x times the normal distribution's probability of less than x."""
    return one("Gelu", [features], {"approximate": approximate}, name)


def softplus(features, name=None):
    """log(1 + e^x)."""
    return one("Softplus", [features], name=name)


def swish(features, name=None):
    """x sigmoid(x)."""
    features = convert_to_tensor(features)
    return math.multiply(features, sigmoid(features), name)


def bias_add(value, bias, data_format="NHWC", name=None):
    """A vector added along the channels."""
    return one("BiasAdd", [value, bias], {"data_format": data_format}, name)


def softmax(logits, axis=-1, name=None):
    """e^x, scaled so that the sum along the axis is 1."""
    return one("Softmax", [logits], {"axis": axis}, name)


def log_softmax(logits, axis=-1, name=None):
    """The logarithm of softmax."""
    return one("LogSoftmax", [logits], {"axis": axis}, name)


def softmax_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """One loss per row of the last axis; labels are distributions."""
    _named(labels, logits)
    return one("SoftmaxCrossEntropyWithLogits", [logits, labels], name=name)


softmax_cross_entropy_with_logits_v2 = softmax_cross_entropy_with_logits


def sparse_softmax_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """One loss per row of the last axis; labels are the right classes."""
    _named(labels, logits)
    return one("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], name=name)


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """One loss per element."""
    _named(labels, logits)
    return one("SigmoidCrossEntropyWithLogits", [logits, labels], name=name)


def _named(labels, logits):
    if labels is None or logits is None:
        raise InvalidArgumentError("it takes labels=... and logits=...")


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Each element set to 0 with probability `rate`, or 1 - keep_prob, the others
    scaled so that the expected sum stays."""
    if (keep_prob is None) == (rate is None):
        raise InvalidArgumentError("dropout: it takes either rate or keep_prob")
    x = convert_to_tensor(x)
    drop = rate if rate is not None else 1 - keep_prob
    shape = noise_shape if noise_shape is not None else array.shape(x)
    from .random import random_uniform

    with x.graph.name_scope(name or "dropout"):
        noise = random_uniform(shape, 0, 1, x.dtype, seed)
        if isinstance(drop, (int, float)) and noise_shape is None:
            if drop == 0:
                return array.identity(x)
            return one("Dropout", [x, noise], {"rate": float(drop)})
        # A rate that is fed, or noise that repeats along an axis.
        drop = convert_to_tensor(drop, x.dtype, graph=x.graph)
        kept = math.cast(math.greater_equal(noise, drop), x.dtype)
        return x * kept / (1.0 - drop)


def l2_loss(t, name=None):
    """Half the sum of the squares of all elements."""
    return one("L2Loss", [t], name=name)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None):
    """x scaled to a norm of 1 along axes."""
    x = convert_to_tensor(x)
    total = math.reduce_sum(math.square(x), axis, keepdims=True)
    return math.multiply(x, math.rsqrt(math.maximum(total, epsilon)), name)


def moments(x, axes, keep_dims=False, name=None):
    """(mean, variance) over axes."""
    x = convert_to_tensor(x)
    with x.graph.name_scope(name or "moments"):
        mean = math.reduce_mean(x, axes, keepdims=True)
        difference = math.squared_difference(x, array.stop_gradient(mean))
        variance = math.reduce_mean(difference, axes, keepdims=True)
        if not keep_dims:
            mean, variance = array.squeeze(mean, axes), array.squeeze(variance, axes)
    return mean, variance


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """x with this mean and variance taken out, scaled and shifted."""
    x = convert_to_tensor(x)
    with x.graph.name_scope(name or "batchnorm"):
        factor = math.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shift = -mean * factor if offset is None else offset - mean * factor
        return x * factor + shift


def fused_batch_norm(
    x,
    scale,
    offset,
    mean=None,
    variance=None,
    epsilon=0.001,
    data_format="NHWC",
    is_training=True,
    name=None,
):
    """(y, batch mean, batch variance): channels normalised over batch and image,
    by the batch's own mean and variance or by those given."""
    x = convert_to_tensor(x)
    if not is_training and (mean is None or variance is None):
        raise InvalidArgumentError(
            "fused_batch_norm: without is_training it takes mean and variance"
        )
    empty = array.constant([], x.dtype) if mean is None or variance is None else None
    attrs = {
        "epsilon": epsilon,
        "data_format": data_format,
        "is_training": is_training,
    }
    inputs = [
        x,
        scale,
        offset,
        empty if mean is None else mean,
        empty if variance is None else variance,
    ]
    y, batch_mean, batch_variance, *_ = several("FusedBatchNorm", inputs, attrs, name)
    return y, batch_mean, batch_variance


def layer_norm(x, scale, offset, epsilon=1e-5, name=None):
    """The last axis normalised to mean 0 and variance 1, scaled and shifted."""
    return one("LayerNorm", [x, scale, offset], {"epsilon": epsilon}, name)


def lrn(input, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, name=None):
    """Local response normalisation over the last axis."""
    attrs = {
        "depth_radius": depth_radius,
        "bias": bias,
        "alpha": alpha,
        "beta": beta,
    }
    return one("LRN", [input], attrs, name)


local_response_normalization = lrn


def _pair(value, data_format, what):
    """Height and width from a number, a pair, or one per axis of an image."""
    if isinstance(value, int):
        return [value, value]
    value = [int(v) for v in value]
    if len(value) == 1:
        return value * 2
    if len(value) == 2:
        return value
    if len(value) == 4:
        channels_last = data_format == "NHWC"
        others = (value[0], value[3]) if channels_last else (value[0], value[1])
        if others != (1, 1):
            raise InvalidArgumentError(
                f"{what}: {value} must be 1 for the batch and the channels"
            )
        return value[1:3] if channels_last else value[2:4]
    raise InvalidArgumentError(f"{what}: expected 1, 2 or 4 numbers, got {value}")


def _window(strides, padding, data_format, dilations=None):
    attrs = {
        "strides": _pair(strides, data_format, "strides"),
        "data_format": data_format,
    }
    if dilations is not None:
        attrs["dilations"] = _pair(dilations, data_format, "dilations")
    if isinstance(padding, str):
        attrs["padding"] = padding.upper()
    else:
        pads = [list(p) for p in padding]
        if len(pads) == 4:
            pads = pads[1:3] if data_format == "NHWC" else pads[2:4]
        attrs["padding"] = "EXPLICIT"
        attrs["explicit_paddings"] = [int(n) for p in pads for n in p]
    return attrs


def conv2d(
    input,
    filter=None,
    strides=1,
    padding="VALID",
    data_format="NHWC",
    dilations=1,
    groups=1,
    name=None,
    filters=None,
):
    """The convolution of images with a filter [height, width, channels in / groups,
    channels out]. Padding is "SAME", "VALID", or ((top, bottom), (left, right))."""
    attrs = {**_window(strides, padding, data_format, dilations), "groups": groups}
    return one("Conv2D", [input, filters if filter is None else filter], attrs, name)


def depthwise_conv2d(
    input, filter, strides=1, padding="VALID", rate=1, name=None, data_format="NHWC"
):
    """Each channel convolved by itself with a filter [height, width, channels,
    multiplier]."""
    attrs = _window(strides, padding, data_format, rate)
    return one("DepthwiseConv2D", [input, filter], attrs, name)


depthwise_conv2d_native = depthwise_conv2d


def conv2d_transpose(
    value,
    filter,
    output_shape,
    strides=1,
    padding="SAME",
    data_format="NHWC",
    name=None,
):
    """The transpose of conv2d: an image of output_shape from what conv2d makes of
    it. The filter is [height, width, channels out, channels in]."""
    attrs = _window(strides, padding, data_format, 1)
    shape = shape_tensor(output_shape, graph_of([value]))
    return one("Conv2DBackpropInput", [shape, filter, value], attrs, name)


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None):
    """The largest element of each window."""
    attrs = _window(strides, padding, data_format)
    attrs["ksize"] = _pair(ksize, data_format, "ksize")
    return one("MaxPool", [value], attrs, name)


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None):
    """The average of each window, without padding."""
    attrs = _window(strides, padding, data_format)
    attrs["ksize"] = _pair(ksize, data_format, "ksize")
    return one("AvgPool", [value], attrs, name)


def embedding_lookup(params, ids, name=None):
    """The rows that ids name; the gradient is sparse."""
    return one("EmbeddingLookup", [params, ids], name=name)


def top_k(input, k=1, sorted=True, name=None):
    """(values, indices) of the k largest elements along the last axis."""
    values, indices = several("TopK", [input], {"k": k, "sorted": sorted}, name)
    return values, indices


def in_top_k(predictions, targets, k, name=None):
    """Whether the right class is among the k likeliest, for each row."""
    predictions = convert_to_tensor(predictions)
    targets = math.cast(convert_to_tensor(targets), "int64")
    _, indices = top_k(predictions, k)
    hits = math.equal(indices, array.expand_dims(targets, -1))
    return math.reduce_any(hits, -1, name=name)


def lstm_cell(x, h, c, kernel_x, kernel_h, bias, forget_bias=1.0, name=None):
    """(h, c) after one step of a long short-term memory; gates in the order input,
    candidate, forget, output."""
    from_x = bias_add(matrix.matmul(x, kernel_x), bias)
    return lstm_gates(from_x, matrix.matmul(h, kernel_h), c, forget_bias, name)


def lstm_gates(from_x, from_h, c, forget_bias=1.0, name=None):
    """lstm_cell without its products: (h, c) from the input's and the state's parts
    of the gates, [batch, 4 units]. The input's for all steps can be one product."""
    attrs = {"forget_bias": forget_bias}
    new_h, new_c, *_ = several("LSTMGates", [from_x, from_h, c], attrs, name)
    return new_h, new_c


def gru_cell(x, h, kernel_x, kernel_h, bias, h_bias=None, name=None):
    """h after one step of a gated recurrent unit; gates in the order reset, update,
    candidate."""
    from_x = bias_add(matrix.matmul(x, kernel_x), bias)
    from_h = matrix.matmul(h, kernel_h)
    if h_bias is not None:
        from_h = bias_add(from_h, h_bias)
    return one("GRUGates", [from_x, from_h, h], name=name)


def scaled_dot_product_attention(
    query, key, value, mask=None, causal=False, scale=None, name=None
):
    """softmax(scale query key^T + mask) value over the last two axes, [places,
    depth]. `causal`: a query sees keys up to its own place only."""
    query, key = convert_to_tensor(query), convert_to_tensor(key)
    if scale is None:
        depth = query.shape[-1]
        if not depth:
            raise InvalidArgumentError(
                f"attention: the depth of the query, of shape {query.shape}, is not "
                "known; pass scale"
            )
        scale = 1 / _math.sqrt(depth)
    with query.graph.name_scope(name or "attention"):
        scores = matrix.batch_matmul(query * scale, key, adj_y=True)
        if mask is not None:
            scores = scores + mask
        if causal:
            ahead = 0
            if query.shape[-2] is not None and key.shape[-2] is not None:
                ahead = key.shape[-2] - query.shape[-2]
            if ahead < 0:
                raise InvalidArgumentError(
                    f"attention: more queries, {query.shape}, than keys, "
                    f"{key.shape}, cannot be causal"
                )
            attrs = {"num_lower": -1, "num_upper": ahead, "fill": float("-inf")}
            scores = one("MatrixBandPart", [scores], attrs)
        return matrix.batch_matmul(softmax(scores), value)


__all__ = [
    "avg_pool",
    "batch_normalization",
    "bias_add",
    "conv2d",
    "conv2d_transpose",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dropout",
    "elu",
    "embedding_lookup",
    "fused_batch_norm",
    "gelu",
    "gru_cell",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "local_response_normalization",
    "log_softmax",
    "lrn",
    "lstm_cell",
    "lstm_gates",
    "max_pool",
    "moments",
    "relu",
    "relu6",
    "scaled_dot_product_attention",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
]
