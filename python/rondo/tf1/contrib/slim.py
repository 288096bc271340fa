"""tf.contrib.slim: the layers of tf.contrib.layers by their short names."""

from ... import losses  # noqa: F401
from .._missing import getattr_of
from .arg_scope import add_arg_scope, arg_scope  # noqa: F401
from .framework import (  # noqa: F401
    get_or_create_global_step,
    get_trainable_variables,
    get_variables,
    get_variables_to_restore,
)
from .layers import (  # noqa: F401
    avg_pool2d,
    batch_norm,
    conv2d,
    conv2d_transpose,
    dropout,
    flatten,
    fully_connected,
    l1_regularizer,
    l2_regularizer,
    max_pool2d,
    one_hot_encoding,
    repeat,
    stack,
    variance_scaling_initializer,
    xavier_initializer,
)

__getattr__ = getattr_of("tf.contrib.slim")
