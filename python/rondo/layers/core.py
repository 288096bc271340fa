"""Dense layers, dropout, and the like."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.variable_scope import get_variable, variable_scope
from ..ops import array, control, matrix, nn
from .arguments import bias_of, extent_of


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
        depth = extent_of(x, -1, "dense")
        kernel = get_variable(
            "kernel",
            [depth, units],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
        )
        if x.shape.ndims == 2:
            y = matrix.matmul(x, kernel)
        else:
            shape = array.shape(x)
            y = matrix.matmul(array.reshape(x, [-1, depth]), kernel)
            y = array.reshape(y, array.concat([shape[:-1], [units]], 0))
            y.set_shape([*x.shape[:-1], units])
        if use_bias:
            bias = bias_of(units, x, bias_initializer, bias_regularizer, trainable)
            y = nn.bias_add(y, bias)
        return y if activation is None else activation(y)


def flatten(inputs, name=None):
    """All axes but the first as one."""
    x = convert_to_tensor(inputs)
    if x.shape.ndims is None:
        raise InvalidArgumentError("flatten: the rank of its input is not known")
    rest = x.shape[1:].num_elements()
    if rest is not None:
        return array.reshape(x, [-1, rest], name)
    batch = array.shape(x)[0] if x.shape[0] is None else x.shape[0]
    return array.reshape(x, [batch, -1], name)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Elements set to 0 with probability `rate` while training, which may be a
    bool tensor."""

    def drop():
        return nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed)

    if hasattr(training, "graph"):
        return control.cond(training, drop, lambda: array.identity(inputs), name=name)
    return drop() if training else array.identity(inputs, name)
