"""tf.train.Example: features by name, as TensorFlow writes them to files."""

import struct

import numpy as np

from ..errors import InvalidArgumentError
from ..framework import wire


class _List:
    def __init__(self, value=()):
        self.value = list(value)


class BytesList(_List):
    def __init__(self, value=()):
        super().__init__(v.encode() if isinstance(v, str) else bytes(v) for v in value)

    def SerializeToString(self):
        return b"".join(wire.bytes_field(1, v) for v in self.value)

    def ParseFromString(self, data):
        self.value = [v for n, v in wire.fields(data) if n == 1]


class FloatList(_List):
    def SerializeToString(self):
        if not self.value:
            return b""
        packed = np.asarray(self.value, "<f4").tobytes()
        return wire.bytes_field(1, packed)

    def ParseFromString(self, data):
        self.value = []
        for number, v in wire.fields(data):
            if number == 1:
                self.value += [x[0] for x in struct.iter_unpack("<f", v)]


class Int64List(_List):
    def SerializeToString(self):
        packed = b"".join(wire.varint(int(v)) for v in self.value)
        return wire.bytes_field(1, packed) if packed else b""

    def ParseFromString(self, data):
        self.value = []
        for number, v in wire.fields(data):
            if number != 1:
                continue
            if isinstance(v, int):
                self.value.append(wire.signed(v))
                continue
            at = 0
            while at < len(v):
                one, at = wire.read_varint(v, at)
                self.value.append(wire.signed(one))


_KINDS = {1: ("bytes_list", BytesList), 2: ("float_list", FloatList)}
_KINDS[3] = ("int64_list", Int64List)


class Feature:
    """One of bytes_list, float_list and int64_list."""

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        self.bytes_list = bytes_list or BytesList()
        self.float_list = float_list or FloatList()
        self.int64_list = int64_list or Int64List()
        self._given = {1: bytes_list, 2: float_list, 3: int64_list}

    def WhichOneof(self, name="kind"):
        for kind, _ in _KINDS.values():
            if getattr(self, kind).value:
                return kind
        return None

    def SerializeToString(self):
        for number, (kind, _) in _KINDS.items():
            value = getattr(self, kind)
            if value.value or self._given[number] is not None:
                return wire.bytes_field(number, value.SerializeToString())
        return b""

    def ParseFromString(self, data):
        for number, content in wire.fields(data):
            if number in _KINDS:
                getattr(self, _KINDS[number][0]).ParseFromString(content)


class _FeatureMap(dict):
    """As of a protocol buffer: what is asked for is there."""

    def __missing__(self, key):
        self[key] = Feature()
        return self[key]


class Features:
    def __init__(self, feature=None):
        self.feature = _FeatureMap(feature or {})

    def SerializeToString(self):
        return b"".join(
            wire.bytes_field(
                1,
                wire.bytes_field(1, name)
                + wire.bytes_field(2, feature.SerializeToString()),
            )
            for name, feature in sorted(self.feature.items())
        )

    def ParseFromString(self, data):
        for number, entry in wire.fields(data):
            if number != 1:
                continue
            parts = dict(wire.fields(entry))
            feature = Feature()
            feature.ParseFromString(parts.get(2, b""))
            self.feature[parts.get(1, b"").decode()] = feature


class Example:
    """Features by name."""

    def __init__(self, features=None):
        self.features = features or Features()

    def SerializeToString(self):
        return wire.bytes_field(1, self.features.SerializeToString())

    def ParseFromString(self, data):
        self.features = Features()
        for number, content in wire.fields(data):
            if number == 1:
                self.features.ParseFromString(content)

    @classmethod
    def FromString(cls, data):
        example = cls()
        example.ParseFromString(data)
        return example


def values_of(example, name):
    """The list of a feature; None when the example has it not."""
    feature = example.features.feature.get(name)
    if feature is None:
        return None
    kind = feature.WhichOneof()
    return [] if kind is None else getattr(feature, kind).value


def check_count(name, values, count):
    if len(values) != count:
        raise InvalidArgumentError(
            f'the feature "{name}" has {len(values)} values, expected {count}'
        )
