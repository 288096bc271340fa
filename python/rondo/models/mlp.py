"""A multi-layer perceptron."""

from .. import initializers, layers, nn
from ..framework.variable_scope import AUTO_REUSE, variable_scope


class MLP:
    """Fully connected layers of `units`, then one of `classes`.

    Input: [batch, features], or images, which are flattened.
    """

    def __init__(self, units=(1024, 1024), classes=10, activation=nn.relu, name="mlp"):
        self.units = tuple(units)
        self.classes = classes
        self.activation = activation
        self.name = name

    def __call__(self, x):
        """The logits, [batch, classes]."""
        with variable_scope(self.name, reuse=AUTO_REUSE):
            x = layers.flatten(x)
            for i, units in enumerate(self.units, 1):
                x = layers.dense(
                    x,
                    units,
                    self.activation,
                    kernel_initializer=initializers.he_normal(),
                    name=f"dense{i}",
                )
            return layers.dense(x, self.classes, name="logits")
