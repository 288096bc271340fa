"""ResNet of bottleneck blocks (He et al., 2015), with the stride of a block at its
3x3 convolution."""

from .. import initializers, layers, nn
from ..framework.variable_scope import AUTO_REUSE, variable_scope
from ..ops import math


class ResNet:
    """A 7x7 convolution of stride 2, pooling by 2, then for each number of `blocks`
    a group of that many blocks: 1x1, 3x3 and 1x1 convolutions with batch
    normalisation, their result added to their input. The width, at first `width`
    and 4 * `width` at a block's end, doubles and the image halves from group to
    group. The default is ResNet-50; (3, 4, 23, 3) is ResNet-101.

    Input: images [batch, height, width, channels], or with data_format "NCHW"
    [batch, channels, height, width].
    """

    def __init__(
        self,
        blocks=(3, 4, 6, 3),
        width=64,
        classes=1000,
        momentum=0.9,
        epsilon=1e-5,
        data_format="NHWC",
        name="resnet",
    ):
        self.blocks = tuple(blocks)
        self.width = width
        self.classes = classes
        self.momentum = momentum
        self.epsilon = epsilon
        self.data_format = data_format
        self.name = name

    def __call__(self, images, training=False):
        """The logits, [batch, classes]."""
        with variable_scope(self.name, reuse=AUTO_REUSE):
            x = self._conv(images, self.width, 7, 2, training, "stem")
            x = layers.max_pooling2d(
                nn.relu(x), 3, 2, ((1, 1), (1, 1)), self.data_format
            )
            for group, blocks in enumerate(self.blocks):
                for block in range(blocks):
                    width = self.width << group
                    stride = 2 if group > 0 and block == 0 else 1
                    with variable_scope(f"block{group + 1}_{block + 1}"):
                        x = self._block(x, width, stride, training)
            places = (1, 2) if self.data_format == "NHWC" else (2, 3)
            x = math.reduce_mean(x, places)
            return layers.dense(x, self.classes, name="logits")

    def _block(self, x, width, stride, training):
        channels = x.shape[3 if self.data_format == "NHWC" else 1]
        y = nn.relu(self._conv(x, width, 1, 1, training, "conv1"))
        y = nn.relu(self._conv(y, width, 3, stride, training, "conv2"))
        y = self._conv(y, 4 * width, 1, 1, training, "conv3")
        if stride != 1 or channels != 4 * width:
            x = self._conv(x, 4 * width, 1, stride, training, "shortcut")
        return nn.relu(y + x)

    def _conv(self, x, filters, size, stride, training, name):
        """A convolution, padded alike on both sides whatever the stride, and batch
        normalisation."""
        around = (size // 2, size // 2)
        with variable_scope(name):
            x = layers.conv2d(
                x,
                filters,
                size,
                stride,
                (around, around),
                self.data_format,
                use_bias=False,
                kernel_initializer=initializers.variance_scaling(2.0, "fan_out"),
                name="conv",
            )
            return layers.batch_normalization(
                x,
                axis=3 if self.data_format == "NHWC" else 1,
                momentum=self.momentum,
                epsilon=self.epsilon,
                training=training,
                name="norm",
            )
