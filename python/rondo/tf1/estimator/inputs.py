"""tf.estimator.inputs: input functions from arrays."""

import numpy as np

from ...data import Dataset
from ...errors import InvalidArgumentError
from .._missing import getattr_of
from ..text import padded_bytes

__getattr__ = getattr_of("tf.estimator.inputs")


def numpy_input_fn(
    x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000,
    num_threads=1,
):  # fmt: skip
    """A function that gives tensors of batches of x, a dict of arrays or an array,
    and y. Arrays of text become rows of bytes."""
    if shuffle not in (True, False):
        raise InvalidArgumentError(
            f"numpy_input_fn: shuffle is {shuffle!r}; expected True or False"
        )
    named = isinstance(x, dict)
    features = {k: _array(v) for k, v in (x.items() if named else [("x", x)])}
    counts = {len(v) for v in features.values()}
    targets = None
    if y is not None:
        targets = (
            {k: _array(v) for k, v in y.items()} if isinstance(y, dict) else _array(y)
        )
        parts = targets.values() if isinstance(targets, dict) else [targets]
        counts |= {len(v) for v in parts}
    if len(counts) != 1:
        raise InvalidArgumentError(
            f"numpy_input_fn: the arrays have different lengths, {sorted(counts)}"
        )

    def input_fn():
        elements = features if targets is None else (features, targets)
        dataset = Dataset.from_tensor_slices(elements)
        if shuffle:
            dataset = dataset.shuffle(max(queue_capacity, 1))
        dataset = dataset.repeat(num_epochs).batch(batch_size)
        got = dataset.make_one_shot_iterator().get_next()
        found, labels = (got, None) if targets is None else got
        found = found if named else found["x"]
        return found if targets is None else (found, labels)

    return input_fn


def _array(values):
    array = np.asarray(values)
    if array.dtype.kind in "SUO":
        return padded_bytes(array.reshape(-1).tolist())
    return array


def pandas_input_fn(
    x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000,
    num_threads=1, target_column="target",
):  # fmt: skip
    """As numpy_input_fn, from a data frame."""
    features = {name: x[name].to_numpy() for name in x.columns}
    targets = None if y is None else y.to_numpy()
    return numpy_input_fn(
        features, targets, batch_size, num_epochs, shuffle, queue_capacity
    )
