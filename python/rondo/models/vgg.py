"""VGG: stacks of 3x3 convolutions (Simonyan and Zisserman, 2014)."""

from .. import initializers, layers, nn
from ..framework.variable_scope import AUTO_REUSE, variable_scope


class VGG:
    """For each of `stacks`, (convolutions, filters): that many 3x3 convolutions,
    then pooling by 2; then two fully connected layers of `units` with dropout, and
    one of `classes`. The default is VGG-16.

    Input: images [batch, height, width, channels], or with data_format "NCHW"
    [batch, channels, height, width].
    """

    def __init__(
        self,
        stacks=((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)),
        units=4096,
        classes=1000,
        dropout=0.5,
        data_format="NHWC",
        name="vgg",
    ):
        self.stacks = tuple(stacks)
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
            for i, (convolutions, filters) in enumerate(self.stacks, 1):
                for j in range(1, convolutions + 1):
                    x = layers.conv2d(
                        x,
                        filters,
                        3,
                        padding="same",
                        data_format=self.data_format,
                        activation=nn.relu,
                        kernel_initializer=he,
                        name=f"conv{i}_{j}",
                    )
                x = layers.max_pooling2d(x, 2, 2, data_format=self.data_format)
            x = layers.flatten(x)
            for i in (1, 2):
                x = layers.dense(
                    x, self.units, nn.relu, kernel_initializer=he, name=f"dense{i}"
                )
                if self.dropout:
                    x = layers.dropout(x, self.dropout, training=training)
            return layers.dense(x, self.classes, name="logits")
