"""tf.examples.tutorials."""

from . import mnist  # noqa: F401
