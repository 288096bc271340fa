"""tf.TextLineReader and its like: records of the files that a queue names.

A reader's place in its file belongs to the program, not to a session.
"""

import os
import threading

import numpy as np

import rondo as rd

from ..data import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from .text import mark_text


class ReaderBase:
    """The base: `_records(path)` gives the records of a file."""

    _what = "Reader"

    def __init__(self):
        self._lock = threading.Lock()
        self._path = None
        self._left = iter(())
        self._number = 0
        self._next = None

    def _records(self, path):
        raise NotImplementedError

    def read(self, queue, name=None):
        """(key, value): a record, and where it is from, as text. Takes the name of
        the next file from the queue where the last one is at its end."""
        whole = rd.CriticalSection(name="reader")

        def record():
            # As long as there is no record, another file.
            found = rd.while_loop(
                lambda there: rd.logical_not(there),
                lambda there: _scalar(
                    rd.py_func(self._open, [queue.dequeue()], rd.bool)
                ),
                [_scalar(rd.py_func(self._has_next, [], rd.bool))],
            )
            found = found[0] if isinstance(found, list) else found
            with rd.control_dependencies([found]):
                return rd.py_func(self._take, [], [rd.uint8, rd.uint8])

        key, value = whole.execute(record)
        for tensor in (key, value):
            mark_text(tensor)
            tensor.set_shape([None])
        return key, value

    def _has_next(self):
        with self._lock:
            return self._advance()

    def _open(self, name):
        with self._lock:
            self._path = os.fsdecode(np.asarray(name).tobytes())
            self._left = iter(self._records(self._path))
            self._number = 0
            return self._advance()

    def _advance(self):
        if self._next is None:
            self._next = next(self._left, None)
        return self._next is not None

    def _take(self):
        with self._lock:
            record, self._next = self._next, None
            self._number += 1
            key = f"{self._path}:{self._number}".encode()
        return np.frombuffer(key, np.uint8), np.frombuffer(record, np.uint8)


def _scalar(tensor):
    tensor.set_shape([])
    return tensor


def _bytes(dataset):
    return (np.asarray(record).tobytes() for record in dataset)


class TextLineReader(ReaderBase):
    """The lines of files, without the first skip_header_lines."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__()
        self._skip = skip_header_lines or 0

    def _records(self, path):
        return _bytes(TextLineDataset(path).skip(self._skip))


class TFRecordReader(ReaderBase):
    """The records of TensorFlow's record files."""

    def __init__(self, name=None, options=None):
        super().__init__()

    def _records(self, path):
        return _bytes(TFRecordDataset(path))


class WholeFileReader(ReaderBase):
    """Files as one record each."""

    def __init__(self, name=None):
        super().__init__()

    def _records(self, path):
        with open(path, "rb") as file:
            return [file.read()]


class FixedLengthRecordReader(ReaderBase):
    """Records of record_bytes bytes each."""

    def __init__(
        self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None,
        name=None, encoding=None,
    ):  # fmt: skip
        super().__init__()
        self._sizes = (record_bytes, header_bytes, footer_bytes)

    def _records(self, path):
        return _bytes(FixedLengthRecordDataset(path, *self._sizes))
