"""Protocol Buffers' wire format: as much as small messages in Python need.

A message is fields, each a varint (number << 3 | kind) and a value: kind 0 is a
varint, 1 eight bytes, 2 a length and that many bytes, 5 four bytes.
"""

import struct

from ..errors import InvalidArgumentError


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def int_field(number, value):
    return varint(number << 3) + varint(int(value))


def bytes_field(number, value):
    value = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def float_field(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def double_field(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def read_varint(data, at):
    """(value, where it ends)."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
        shift += 7
    raise InvalidArgumentError("these bytes are no message: a number does not end")


def fields(data):
    """(number, value) of each field: an int of a varint, bytes of all others."""
    data = bytes(data)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = read_varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise InvalidArgumentError(f"these bytes are no message: kind {kind}")
        if at + length > len(data):
            raise InvalidArgumentError("these bytes are no message: they end early")
        yield key >> 3, data[at : at + length]
        at += length


def signed(value):
    """An int64 from a varint."""
    return value - (1 << 64) if value >= 1 << 63 else value
