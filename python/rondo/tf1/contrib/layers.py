"""tf.contrib.layers: layers with "weights" and "biases", and their regularizers."""

import rondo as rd

from ... import initializers as _initializers
from ... import layers as _layers
from ...errors import InvalidArgumentError
from ...framework.build import convert_to_tensor as _convert
from ...framework.graph import GraphKeys
from ...framework.variable_scope import get_variable, variable_scope
from ...layers.arguments import extent_of
from ...ops import nn as _nn
from .._missing import getattr_of
from .arg_scope import add_arg_scope, arg_scope  # noqa: F401
from .optimize_loss import OPTIMIZER_CLS_NAMES, optimize_loss  # noqa: F401
from .regularizers import (  # noqa: F401
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)

__getattr__ = getattr_of("tf.contrib.layers")


def xavier_initializer(uniform=True, seed=None, dtype="float32"):
    """Glorot's initializer."""
    kind = _initializers.glorot_uniform if uniform else _initializers.glorot_normal
    return kind(seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype="float32"
):
    """Variance factor / fan."""
    distribution = "uniform" if uniform else "truncated_normal"
    return _initializers.variance_scaling(
        factor, mode.lower(), distribution, seed, dtype
    )


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """All axes but the first as one."""
    return _collected(_layers.flatten(inputs, scope), outputs_collections)


def _collected(y, collections):
    if collections:
        y.graph.add_to_collections(collections, y)
    return y


def _finished(y, normalizer_fn, normalizer_params, activation_fn, collections):
    if normalizer_fn is not None:
        y = normalizer_fn(y, **(normalizer_params or {}))
    if activation_fn is not None:
        y = activation_fn(y)
    return _collected(y, collections)


def _variable(name, shape, x, initializer, regularizer, trainable, collections):
    """A variable of the model; `collections` are those of all, or by name."""
    made = get_variable(name, shape, x.dtype, initializer, regularizer, trainable)
    if isinstance(collections, dict):
        collections = collections.get(name)
    if isinstance(collections, str):
        collections = [collections]
    for key in [GraphKeys.MODEL_VARIABLES, *(collections or ())]:
        there = made.graph.get_collection_ref(key)
        if not any(v is made for v in there):  # it may be a shared one
            there.append(made)
    return made


def _biased(
    y, count, x, normalizer_fn, initializer, regularizer, trainable, collections,
    layout="NHWC",
):  # fmt: skip
    """y + biases, but for what a normalisation comes after, which has its own."""
    if normalizer_fn is not None or initializer is None:
        return y
    biases = _variable(
        "biases", [count], x, initializer, regularizer, trainable, collections
    )
    return _nn.bias_add(y, biases, layout)


_ZEROS = _initializers.zeros()


@add_arg_scope
def fully_connected(
    inputs,
    num_outputs,
    activation_fn=_nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """activation_fn(inputs weights + biases), over the last axis."""
    x = _convert(inputs)
    with variable_scope(scope, "fully_connected", reuse=reuse):
        depth = extent_of(x, -1, "fully_connected")
        weights = _variable(
            "weights", [depth, num_outputs], x,
            weights_initializer or xavier_initializer(), weights_regularizer, trainable,
            variables_collections,
        )  # fmt: skip
        y = _biased(
            rd.matmul(rd.reshape(x, [-1, depth]), weights), num_outputs, x,
            normalizer_fn, biases_initializer, biases_regularizer, trainable,
            variables_collections,
        )  # fmt: skip
        if x.shape.ndims != 2:
            rest = rd.shape(x)[:-1]
            y = rd.reshape(y, rd.concat([rest, [num_outputs]], 0))
            y.set_shape([*x.shape[:-1], num_outputs])
        return _finished(
            y, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


linear = add_arg_scope(
    lambda inputs, num_outputs, **options: fully_connected(
        inputs, num_outputs, **{"activation_fn": None, **options}
    )
)
relu = fully_connected


@add_arg_scope
def conv2d(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=None,
    rate=1,
    activation_fn=_nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """activation_fn(the convolution of images + biases)."""
    x = _convert(inputs)
    layout = data_format or "NHWC"
    with variable_scope(scope, "Conv", reuse=reuse):
        channels = extent_of(x, 3 if layout == "NHWC" else 1, "conv2d")
        size = _nn._pair(kernel_size, layout, "kernel_size")
        weights = _variable(
            "weights", [*size, channels, num_outputs], x,
            weights_initializer or xavier_initializer(), weights_regularizer, trainable,
            variables_collections,
        )  # fmt: skip
        y = _biased(
            _nn.conv2d(x, weights, stride, padding, layout, rate), num_outputs, x,
            normalizer_fn, biases_initializer, biases_regularizer, trainable,
            variables_collections, layout,
        )  # fmt: skip
        return _finished(
            y, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


convolution2d = convolution = conv2d


@add_arg_scope
def conv2d_transpose(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    activation_fn=_nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=None,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    reuse=None,
    trainable=True,
    scope=None,
):
    """activation_fn(the transpose of a convolution + biases)."""
    with variable_scope(scope, "Conv2d_transpose", reuse=reuse):
        y = _layers.conv2d_transpose(
            inputs, num_outputs, kernel_size, stride, padding,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer or xavier_initializer(),
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer, trainable=trainable, name="conv",
        )  # fmt: skip
        return _finished(y, normalizer_fn, normalizer_params, activation_fn, None)


@add_arg_scope
def max_pool2d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC",
    outputs_collections=None, scope=None,
):  # fmt: skip
    """The largest element of each window."""
    y = _nn.max_pool(inputs, kernel_size, stride, padding, data_format, scope)
    return _collected(y, outputs_collections)


@add_arg_scope
def avg_pool2d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC",
    outputs_collections=None, scope=None,
):  # fmt: skip
    """The average of each window."""
    y = _nn.avg_pool(inputs, kernel_size, stride, padding, data_format, scope)
    return _collected(y, outputs_collections)


@add_arg_scope
def dropout(
    inputs, keep_prob=0.5, noise_shape=None, is_training=True,
    outputs_collections=None, scope=None, seed=None,
):  # fmt: skip
    """Elements set to 0 with probability 1 - keep_prob while training."""
    y = _layers.dropout(inputs, 1 - keep_prob, noise_shape, seed, is_training, scope)
    return _collected(y, outputs_collections)


@add_arg_scope
def batch_norm(
    inputs,
    decay=0.999,
    center=True,
    scale=False,
    epsilon=0.001,
    activation_fn=None,
    param_initializers=None,
    param_regularizers=None,
    updates_collections=GraphKeys.UPDATE_OPS,
    is_training=True,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    batch_weights=None,
    fused=None,
    data_format="NHWC",
    zero_debias_moving_mean=False,
    scope=None,
    renorm=False,
):
    """Channels normalised. With updates_collections=None, the moving averages are
    brought up to date whenever the result is computed."""
    if renorm or batch_weights is not None or zero_debias_moving_mean:
        raise InvalidArgumentError(
            "batch_norm: renorm, batch_weights and zero_debias_moving_mean are not "
            "supported"
        )
    if param_regularizers or variables_collections:
        raise InvalidArgumentError(
            "batch_norm: param_regularizers and variables_collections are not supported"
        )
    begin = {f"{k}_initializer": v for k, v in (param_initializers or {}).items()}
    x = _convert(inputs)
    updates = x.graph.get_collection_ref(GraphKeys.UPDATE_OPS)
    before = len(updates)
    with variable_scope(scope, "BatchNorm", reuse=reuse) as inner:
        y = _layers.batch_normalization(
            x, 1 if data_format == "NCHW" else -1, decay, epsilon, center, scale,
            training=is_training, trainable=trainable, name=inner, **begin,
        )  # fmt: skip
    new = updates[before:]
    if updates_collections != GraphKeys.UPDATE_OPS:
        del updates[before:]
        if updates_collections is None:
            with x.graph.control_dependencies(new):
                y = rd.identity(y)
        else:
            for update in new:
                x.graph.add_to_collections(updates_collections, update)
    return _finished(y, None, None, activation_fn, outputs_collections)


@add_arg_scope
def layer_norm(
    inputs, center=True, scale=True, activation_fn=None, reuse=None,
    variables_collections=None, outputs_collections=None, trainable=True,
    begin_norm_axis=1, begin_params_axis=-1, scope=None,
):  # fmt: skip
    """All axes from begin_norm_axis on normalised, together, to mean 0 and variance
    1; gamma and beta have the axes from begin_params_axis on."""
    x = _convert(inputs)
    rank = x.shape.ndims
    if rank is None:
        raise InvalidArgumentError("layer_norm: the rank of its input is not known")
    shape = [
        extent_of(x, i, "layer_norm") for i in range(begin_params_axis % rank, rank)
    ]
    with variable_scope(scope, "LayerNorm", reuse=reuse):
        axes = list(range(begin_norm_axis % rank, rank))
        mean, variance = _nn.moments(x, axes, keep_dims=True)
        y = (x - mean) * rd.rsqrt(variance + 1e-12)
        rest = (None, trainable, variables_collections)
        if scale:
            y = y * _variable("gamma", shape, x, _initializers.ones(), *rest)
        if center:
            y = y + _variable("beta", shape, x, _ZEROS, *rest)
        return _finished(y, None, None, activation_fn, outputs_collections)


@add_arg_scope
def one_hot_encoding(
    labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None,
    scope=None,
):  # fmt: skip
    """on_value at the label, off_value elsewhere."""
    y = rd.one_hot(labels, num_classes, on_value, off_value, name=scope)
    return _collected(y, outputs_collections)


def embed_sequence(
    ids, vocab_size=None, embed_dim=None, unique=False, initializer=None,
    regularizer=None, trainable=True, scope=None, reuse=None,
):  # fmt: skip
    """A vector for each of the ids."""
    with variable_scope(scope, "EmbedSequence", reuse=reuse):
        shape = [vocab_size, embed_dim]
        embeddings = get_variable(
            "embeddings", shape, None, initializer, regularizer, trainable
        )
        return _nn.embedding_lookup(embeddings, ids)


def stack(inputs, layer, stack_args, **kwargs):
    """A layer after another, with the arguments of each."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Stack"):
        for i, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            name = f"{getattr(layer, '__name__', 'layer')}_{i + 1}"
            inputs = layer(inputs, *args, scope=name, **kwargs)
    return inputs


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """The same layer so many times."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat"):
        for i in range(repetitions):
            name = f"{getattr(layer, '__name__', 'layer')}_{i + 1}"
            inputs = layer(inputs, *args, scope=name, **kwargs)
    return inputs
