"""tf.contrib.data: data sets by their older name."""

from ...data import (  # noqa: F401
    Dataset,
    FixedLengthRecordDataset,
    Iterator,
    TextLineDataset,
    TFRecordDataset,
)
from .._missing import getattr_of

__getattr__ = getattr_of("tf.contrib.data")

AUTOTUNE = -1


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """For Dataset.apply."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func, batch_size, num_parallel_batches=None, drop_remainder=False,
    num_parallel_calls=None,
):  # fmt: skip
    """For Dataset.apply."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def batch_and_drop_remainder(batch_size):
    """For Dataset.apply."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def parallel_interleave(map_func, cycle_length, block_length=1, **options):
    """For Dataset.apply."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)
