"""tf.TextLineReader and its like: records of the files that a queue names.

A reader's place in its file belongs to the program, not to a session.
"""

import itertools
import os
import threading

import numpy as np

import rondo as rd

from ..data import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from ..errors import InvalidArgumentError
from .python_io import compression_of
from .text import mark_text


class ReaderBase:
    """The base: `_records(path)` gives the records of a file."""

    _what = "Reader"

    def __init__(self):
        self._lock = threading.Lock()
        self._left = iter(())
        # Records that a run has drawn and not yet taken, by ticket.
        self._drawn = {}
        self._tickets = 0

    def _records(self, path):
        raise NotImplementedError

    def read(self, queue, name=None):
        """(key, value): a record, and where it is from, as text. Takes the name of
        the next file from the queue where there are no records left."""
        ticket = rd.while_loop(
            lambda ticket: rd.less(ticket, np.int64(0)),
            lambda ticket: _scalar(
                rd.py_func(self._open_and_draw, [queue.dequeue()], rd.int64)
            ),
            [_scalar(rd.py_func(self._draw, [], rd.int64))],
            parallel_iterations=1,
        )
        key, value = rd.py_func(self._take, [ticket], [rd.uint8, rd.uint8])
        for tensor in (key, value):
            mark_text(tensor)
            tensor.set_shape([None])
        return key, value

    def _draw(self):
        """A ticket for the next record; -1 when there is none left."""
        with self._lock:
            found = next(self._left, None)
            if found is None:
                return np.int64(-1)
            self._tickets += 1
            self._drawn[self._tickets] = found
            return np.int64(self._tickets)

    def _open_and_draw(self, name):
        path = os.fsdecode(np.asarray(name).tobytes())
        records = self._numbered(path)
        with self._lock:
            # Another run may have opened a file meanwhile.
            self._left = itertools.chain(self._left, records)
        return self._draw()

    def _numbered(self, path):
        for i, record in enumerate(self._records(path)):
            yield f"{path}:{i + 1}".encode(), record

    def _take(self, ticket):
        with self._lock:
            key, record = self._drawn.pop(int(ticket))
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
        self._compression = compression_of(options)

    def _records(self, path):
        return _bytes(TFRecordDataset(path, self._compression))


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
        if hop_bytes or encoding:
            raise InvalidArgumentError(
                "FixedLengthRecordReader: hop_bytes and encoding are not supported"
            )
        self._sizes = (record_bytes, header_bytes, footer_bytes)

    def _records(self, path):
        return _bytes(FixedLengthRecordDataset(path, *self._sizes))
