"""tf.examples.tutorials.mnist."""

from . import input_data  # noqa: F401
from .model import (  # noqa: F401
    IMAGE_PIXELS,
    IMAGE_SIZE,
    NUM_CLASSES,
)
