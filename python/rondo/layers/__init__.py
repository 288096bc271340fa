"""Layers with variables of their own, as functions of tensors."""

from .convolution import conv1d, conv2d, conv2d_transpose, separable_conv2d
from .core import dense, dropout, flatten
from .normalization import batch_normalization
from .pooling import average_pooling2d, max_pooling1d, max_pooling2d

__all__ = [
    "average_pooling2d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "separable_conv2d",
]
