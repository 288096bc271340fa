"""Layers of neural networks, under TensorFlow's names."""

from .ops.nn import *  # noqa: F403
from .ops.nn import __all__  # noqa: F401
