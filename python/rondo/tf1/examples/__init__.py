"""tf.examples."""

from . import tutorials  # noqa: F401
