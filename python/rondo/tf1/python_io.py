"""tf.python_io: files of records.

A record is its length (8 bytes), the checksum of that, the data, and its
checksum: CRC-32C, masked.
"""

import gzip as _gzip
import struct as _struct

from ..data import TFRecordDataset as _TFRecordDataset
from ..errors import InvalidArgumentError
from ._missing import getattr_of

__getattr__ = getattr_of("tf.python_io")


def _table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _table()


def _masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    def __init__(self, compression_type=None):
        self.compression_type = compression_type


def compression_of(options):
    """ "GZIP" or None."""
    kind = getattr(options, "compression_type", options)
    if kind in (TFRecordCompressionType.GZIP, "GZIP"):
        return "GZIP"
    if kind in (None, "", TFRecordCompressionType.NONE):
        return None
    raise InvalidArgumentError("TFRecord: the compression is GZIP or none")


class TFRecordWriter:
    """Writes records to a file."""

    def __init__(self, path, options=None):
        self._file = (_gzip.open if compression_of(options) else open)(path, "wb")

    def write(self, record):
        length = _struct.pack("<Q", len(record))
        self._file.write(length + _struct.pack("<I", _masked_crc(length)))
        self._file.write(record + _struct.pack("<I", _masked_crc(record)))

    def flush(self):
        self._file.flush()

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def tf_record_iterator(path, options=None):
    """The records of a file."""
    for record in _TFRecordDataset(path, compression_of(options)):
        yield record.tobytes()
