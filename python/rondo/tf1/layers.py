"""tf.layers, with TensorFlow 1's names of arguments, and its classes."""

from .. import layers as _layers
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.variable_scope import variable_scope
from ..ops.array import transpose
from ._missing import getattr_of
from ._old_names import accepting

__getattr__ = getattr_of("tf.layers")

_OPTIONS = {
    "ignored": ("fused",),
    "refused": (
        "activity_regularizer", "kernel_constraint", "bias_constraint",
        "beta_regularizer", "gamma_regularizer", "beta_constraint",
        "gamma_constraint", "renorm", "adjustment", "virtual_batch_size",
    ),
}  # fmt: skip

dense = accepting(_layers.dense, **_OPTIONS)
conv1d = accepting(_layers.conv1d, **_OPTIONS)
conv2d = accepting(_layers.conv2d, **_OPTIONS)
conv2d_transpose = accepting(_layers.conv2d_transpose, **_OPTIONS)
separable_conv2d = accepting(_layers.separable_conv2d, **_OPTIONS)
max_pooling1d = _layers.max_pooling1d
max_pooling2d = _layers.max_pooling2d
average_pooling2d = _layers.average_pooling2d
dropout = _layers.dropout


def flatten(inputs, name=None, data_format="channels_last"):
    """All axes but the first as one, the channels last."""
    x = convert_to_tensor(inputs)
    if data_format == "channels_first" and (x.shape.ndims or 0) > 2:
        x = transpose(x, [0, *range(2, x.shape.ndims), 1])
    elif data_format not in ("channels_last", "channels_first"):
        raise InvalidArgumentError(f"flatten: data_format is {data_format!r}")
    return _layers.flatten(x, name)


batch_normalization = accepting(_layers.batch_normalization, **_OPTIONS)


class Layer:
    """A layer as an object: its variables are made by its first call, and shared by
    all others."""

    _function = None
    _default = None
    _first = ()

    def __init__(self, *args, name=None, **options):
        if len(args) > len(self._first):
            raise InvalidArgumentError(
                f"{type(self).__name__}: by place it takes "
                f"{', '.join(self._first) or 'nothing'}; give the others by name"
            )
        options.update(zip(self._first, args))  # noqa: B905
        self._options = options
        self._given = name
        self._scope = None

    def __call__(self, inputs, **more):
        function = type(self)._function
        options = {**self._options, **more}
        if self._default is None:  # a layer without variables
            return function(inputs, **options)
        built = self._scope is not None
        if not built:
            with variable_scope(self._given, self._default) as scope:
                self._scope = scope
        reuse = True if built else None
        return function(inputs, name=self._scope, reuse=reuse, **options)

    apply = __call__

    @property
    def variables(self):
        return [] if self._scope is None else self._scope.global_variables()

    weights = variables

    @property
    def trainable_variables(self):
        return [] if self._scope is None else self._scope.trainable_variables()

    trainable_weights = trainable_variables

    def _named(self, what):
        return next(v for v in self.variables if v.op.name.endswith("/" + what))

    @property
    def kernel(self):
        return self._named("kernel")

    @property
    def bias(self):
        return self._named("bias")


class Dense(Layer):
    _function, _default = staticmethod(dense), "dense"
    _first = ("units", "activation", "use_bias")


class Conv2D(Layer):
    _function, _default = staticmethod(conv2d), "conv2d"
    _first = ("filters", "kernel_size", "strides", "padding")


class Conv2DTranspose(Layer):
    _function, _default = staticmethod(conv2d_transpose), "conv2d_transpose"
    _first = ("filters", "kernel_size", "strides", "padding")


class BatchNormalization(Layer):
    _function, _default = staticmethod(batch_normalization), "batch_normalization"
    _first = ("axis", "momentum", "epsilon")


class Flatten(Layer):
    _function = staticmethod(flatten)


class Dropout(Layer):
    _function = staticmethod(dropout)
    _first = ("rate",)


class MaxPooling2D(Layer):
    _function = staticmethod(max_pooling2d)
    _first = ("pool_size", "strides", "padding")


class AveragePooling2D(Layer):
    _function = staticmethod(average_pooling2d)
    _first = ("pool_size", "strides", "padding")
