"""tf.contrib.layers: layers with "weights" and "biases", and their regularizers."""

import rondo as rd

from ... import initializers as _initializers
from ... import layers as _layers
from ...errors import InvalidArgumentError
from ...framework.build import convert_to_tensor as _convert
from ...framework.graph import GraphKeys
from ...framework.variable_scope import get_variable, variable_scope
from ...ops import nn as _nn
from .._missing import getattr_of
from .arg_scope import add_arg_scope, arg_scope  # noqa: F401

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


def l2_regularizer(scale, scope=None):
    """scale times half the sum of the squares."""
    if scale == 0.0:
        return lambda weights: None
    return lambda weights: rd.multiply(_nn.l2_loss(weights), float(scale), scope)


def l1_regularizer(scale, scope=None):
    """scale times the sum of the absolute values."""
    if scale == 0.0:
        return lambda weights: None
    return lambda weights: rd.multiply(
        rd.reduce_sum(rd.abs(weights)), float(scale), scope
    )


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """Both."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)])


def sum_regularizer(regularizer_list, scope=None):
    """The sum of several."""

    def total(weights):
        losses = [r(weights) for r in regularizer_list if r is not None]
        losses = [x for x in losses if x is not None]
        return rd.add_n(losses) if losses else None

    return total


def apply_regularization(regularizer, weights_list=None):
    """The sum of a regularizer over weights; it is a regularization loss."""
    if weights_list is None:
        weights_list = rd.get_collection(GraphKeys.WEIGHTS)
    losses = [x for x in map(regularizer, weights_list) if x is not None]
    total = rd.add_n(losses) if losses else rd.constant(0.0)
    rd.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """All axes but the first as one."""
    return _layers.flatten(inputs, scope)


def _finished(y, normalizer_fn, normalizer_params, activation_fn, collections):
    if normalizer_fn is not None:
        y = normalizer_fn(y, **(normalizer_params or {}))
    if activation_fn is not None:
        y = activation_fn(y)
    if collections:
        y.graph.add_to_collections(collections, y)
    return y


def _biases(count, x, normalizer_fn, initializer, regularizer, trainable):
    """None where a normalisation has its own."""
    if normalizer_fn is not None or initializer is None:
        return None
    return get_variable("biases", [count], x.dtype, initializer, regularizer, trainable)


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
        depth = _layers._extent(x, -1, "fully_connected")
        weights = get_variable(
            "weights", [depth, num_outputs], x.dtype,
            weights_initializer or xavier_initializer(), weights_regularizer, trainable,
        )  # fmt: skip
        y = rd.matmul(rd.reshape(x, [-1, depth]), weights)
        biases = _biases(
            num_outputs, x, normalizer_fn, biases_initializer, biases_regularizer,
            trainable,
        )  # fmt: skip
        if biases is not None:
            y = _nn.bias_add(y, biases)
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
        channels = _layers._extent(x, 3 if layout == "NHWC" else 1, "conv2d")
        size = _nn._pair(kernel_size, layout, "kernel_size")
        weights = get_variable(
            "weights", [*size, channels, num_outputs], x.dtype,
            weights_initializer or xavier_initializer(), weights_regularizer, trainable,
        )  # fmt: skip
        y = _nn.conv2d(x, weights, stride, padding, layout, rate)
        biases = _biases(
            num_outputs, x, normalizer_fn, biases_initializer, biases_regularizer,
            trainable,
        )  # fmt: skip
        if biases is not None:
            y = _nn.bias_add(y, biases, layout)
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
    return _nn.max_pool(inputs, kernel_size, stride, padding, data_format, scope)


@add_arg_scope
def avg_pool2d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC",
    outputs_collections=None, scope=None,
):  # fmt: skip
    """The average of each window."""
    return _nn.avg_pool(inputs, kernel_size, stride, padding, data_format, scope)


@add_arg_scope
def dropout(
    inputs, keep_prob=0.5, noise_shape=None, is_training=True,
    outputs_collections=None, scope=None, seed=None,
):  # fmt: skip
    """Elements set to 0 with probability 1 - keep_prob while training."""
    return _layers.dropout(inputs, 1 - keep_prob, noise_shape, seed, is_training, scope)


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
    if renorm or batch_weights is not None:
        raise InvalidArgumentError(
            "batch_norm: renorm and batch_weights are not supported"
        )
    x = _convert(inputs)
    updates = x.graph.get_collection_ref(GraphKeys.UPDATE_OPS)
    before = len(updates)
    with variable_scope(scope, "BatchNorm", reuse=reuse) as inner:
        y = _layers.batch_normalization(
            x, 1 if data_format == "NCHW" else -1, decay, epsilon, center, scale,
            training=is_training, trainable=trainable, name=inner,
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
    begin_norm_axis=-1, begin_params_axis=-1, scope=None,
):  # fmt: skip
    """The last axis normalised to mean 0 and variance 1."""
    x = _convert(inputs)
    with variable_scope(scope, "LayerNorm", reuse=reuse):
        depth = _layers._extent(x, -1, "layer_norm")
        beta = get_variable("beta", [depth], x.dtype, _ZEROS, trainable=trainable)
        gamma = get_variable(
            "gamma", [depth], x.dtype, _initializers.ones(), trainable=trainable
        )
        y = _nn.layer_norm(x, gamma, beta)
        return y if activation_fn is None else activation_fn(y)


def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, **options):
    """on_value at the label, off_value elsewhere."""
    return rd.one_hot(labels, num_classes, on_value, off_value)


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


def optimize_loss(
    loss, global_step, learning_rate, optimizer, gradient_noise_scale=None,
    gradient_multipliers=None, clip_gradients=None, learning_rate_decay_fn=None,
    update_ops=None, variables=None, name=None, summaries=None, **options,
):  # fmt: skip
    """A training operation that gives the loss: optimizer is a name, a class or an
    object."""
    if global_step is None:
        global_step = rd.train.get_or_create_global_step()
    if learning_rate_decay_fn is not None:
        learning_rate = learning_rate_decay_fn(learning_rate, global_step)
    if isinstance(optimizer, str):
        optimizer = OPTIMIZER_CLS_NAMES[optimizer]
    if not hasattr(optimizer, "compute_gradients"):
        optimizer = optimizer(learning_rate)
    elif isinstance(optimizer, type):
        optimizer = optimizer(learning_rate)
    if update_ops is None:
        update_ops = rd.get_collection(GraphKeys.UPDATE_OPS)
    with rd.control_dependencies(update_ops):
        pairs = optimizer.compute_gradients(loss, variables)
        if clip_gradients is not None:
            grads, names = zip(*pairs)  # noqa: B905
            if callable(clip_gradients):
                pairs = clip_gradients(pairs)
            else:
                grads, _ = rd.clip_by_global_norm(grads, clip_gradients)
                pairs = list(zip(grads, names))  # noqa: B905
        train_op = optimizer.apply_gradients(pairs, global_step, name)
    with rd.control_dependencies([train_op]):
        return rd.identity(loss)


OPTIMIZER_CLS_NAMES = {
    "Adagrad": rd.train.AdagradOptimizer,
    "Adam": rd.train.AdamOptimizer,
    "Ftrl": rd.train.FtrlOptimizer,
    "Momentum": lambda learning_rate: rd.train.MomentumOptimizer(learning_rate, 0.9),
    "RMSProp": rd.train.RMSPropOptimizer,
    "SGD": rd.train.GradientDescentOptimizer,
}
