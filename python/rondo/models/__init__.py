"""Models to start from, and to test and measure with.

A model is made with its sizes and called with tensors, as often as needed: the
calls share its variables.

    model = rondo.models.LeNet(classes=10)
    loss = rondo.models.loss(labels, model(images, training=True))
    right = rondo.equal(rondo.argmax(model(images), 1), labels)

Batch normalisation's moving averages change when what is in the collection
UPDATE_OPS runs; `train_op` makes a step of that and of an optimizer.
"""

from .gpt import GPT
from .lenet import LeNet
from .lstm import LSTM
from .mlp import MLP
from .resnet import ResNet
from .training import loss, train_op
from .vgg import VGG

__all__ = ["GPT", "LSTM", "MLP", "VGG", "LeNet", "ResNet", "loss", "train_op"]
