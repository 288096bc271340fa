"""Layers of neural networks, under TensorFlow's names."""

from .ops import nn as _nn
from .ops import rnn as _rnn
from .ops import rnn_cell
from .ops import sampling as _sampling
from .ops.nn import *  # noqa: F403
from .ops.rnn import *  # noqa: F403
from .ops.sampling import *  # noqa: F403

__all__ = [*_nn.__all__, *_rnn.__all__, *_sampling.__all__, "rnn_cell"]
