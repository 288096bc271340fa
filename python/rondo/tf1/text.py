"""Text: tensors of bytes. Rondo's graphs have numbers only, so a text is a vector
of uint8, of which a run gives bytes."""

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.dtypes import uint8


class _String:
    """tf.string: what names the type of text."""

    name = "string"
    as_numpy_dtype = object
    is_floating = is_integer = is_bool = False

    def __repr__(self):
        return "tf.string"


string = _String()


def is_text(value):
    return isinstance(value, (str, bytes)) or (
        isinstance(value, np.generic) and value.dtype.kind in "SU"
    )


def text_constant(value, name=None):
    """A vector of uint8 for which a run gives bytes."""
    data = value.encode() if isinstance(value, str) else bytes(value)
    tensor = convert_to_tensor(np.frombuffer(data, np.uint8), name=name)
    mark_text(tensor)
    return tensor


def mark_text(tensor):
    tensor.graph._texts.add(tensor._value)
    return tensor


def refuse_string(dtype, what):
    if dtype is string or dtype in ("string", str):
        raise InvalidArgumentError(
            f"{what}: tensors have no texts in Rondo; feed numbers, or make a text by "
            "tf.constant, tf.train.string_input_producer or tf.read_file"
        )


def bytes_dtype(dtype):
    return uint8 if dtype is string else dtype


def padded_bytes(texts):
    """Texts as rows of uint8, with zeros behind them."""
    rows = [t.encode() if isinstance(t, str) else bytes(t) for t in texts]
    width = max([len(r) for r in rows], default=0) or 1
    out = np.zeros((len(rows), width), np.uint8)
    for i, row in enumerate(rows):
        out[i, : len(row)] = np.frombuffer(row, np.uint8)
    return out
