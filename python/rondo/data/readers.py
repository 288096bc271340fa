"""Data sets of the records of files: vectors of uint8."""

import os

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError
from .dataset import Dataset, path_of


def _paths(filenames):
    """The core's data set of paths."""
    if isinstance(filenames, Dataset):
        return filenames._core
    if isinstance(filenames, (str, bytes, os.PathLike, np.ndarray)):
        filenames = [filenames]
    return _core.Dataset.paths([path_of(name) for name in filenames])


def _gzip(compression_type):
    if compression_type not in (None, "", "GZIP"):
        raise InvalidArgumentError(
            f'compression_type is {compression_type!r}, expected None, "" or "GZIP"'
        )
    return compression_type == "GZIP"


class TextLineDataset(Dataset):
    """The lines of files, without their ends.

    `filenames` is a path, a list of paths, or a data set of them, such as
    Dataset.list_files gives. Of text, rondo has the bytes: bytes(line).decode().
    """

    def __init__(self, filenames, compression_type=None, buffer_size=None):
        paths = _paths(filenames)
        core = _core.Dataset.text_line(paths, _gzip(compression_type))
        super().__init__(core, None, [filenames])


class FixedLengthRecordDataset(Dataset):
    """Records of record_bytes bytes each, behind a header and before a footer.

    FixedLengthRecordDataset("train-images-idx3-ubyte.gz", 784, 16,
    compression_type="GZIP") are MNIST's images.
    """

    def __init__(
        self,
        filenames,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        buffer_size=None,
        compression_type=None,
    ):
        core = _core.Dataset.fixed_length_record(
            _paths(filenames),
            record_bytes,
            header_bytes or 0,
            footer_bytes or 0,
            _gzip(compression_type),
        )
        super().__init__(core, None, [filenames])


class TFRecordDataset(Dataset):
    """The records of TensorFlow's record files; checksums are checked."""

    def __init__(self, filenames, compression_type=None, buffer_size=None):
        paths = _paths(filenames)
        core = _core.Dataset.tf_record(paths, _gzip(compression_type))
        super().__init__(core, None, [filenames])
