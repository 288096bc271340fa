"""LeNet: two convolutions and two fully connected layers."""

from .. import initializers, layers, nn
from ..framework.variable_scope import AUTO_REUSE, variable_scope


class LeNet:
    """Two 5x5 convolutions of `filters`, each pooled by 2, a fully connected layer
    of `units` with dropout, and one of `classes`.

    Input: images [batch, height, width, channels], or with data_format "NCHW"
    [batch, channels, height, width].
    """

    def __init__(
        self,
        filters=(32, 64),
        units=128,
        classes=10,
        dropout=0.0,
        data_format="NHWC",
        name="lenet",
    ):
        self.filters = tuple(filters)
        self.units = units
        self.classes = classes
        self.dropout = dropout
        self.data_format = data_format
        self.name = name

    def __call__(self, images, training=False):
        """The logits, [batch, classes]."""
        he = initializers.he_normal()
        with variable_scope(self.name, reuse=AUTO_REUSE):
            x = images
            for i, filters in enumerate(self.filters, 1):
                x = layers.conv2d(
                    x,
                    filters,
                    5,
                    padding="same",
                    data_format=self.data_format,
                    activation=nn.relu,
                    kernel_initializer=he,
                    name=f"conv{i}",
                )
                x = layers.max_pooling2d(x, 2, 2, data_format=self.data_format)
            x = layers.flatten(x)
            x = layers.dense(
                x, self.units, nn.relu, kernel_initializer=he, name="dense1"
            )
            if self.dropout:
                x = layers.dropout(x, self.dropout, training=training)
            return layers.dense(x, self.classes, name="logits")
