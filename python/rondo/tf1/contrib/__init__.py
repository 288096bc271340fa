"""tf.contrib: the parts that programs of TensorFlow 1 used most."""

from .._missing import getattr_of
from . import data, framework, layers, rnn, seq2seq, slim, training

__getattr__ = getattr_of("tf.contrib")

__all__ = ["data", "framework", "layers", "rnn", "seq2seq", "slim", "training"]
