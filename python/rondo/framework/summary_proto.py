"""Summary: values that a program gives TensorBoard itself."""

import struct

from . import wire


class Summary:
    """TensorFlow's message of that name, with numbers only.

    summary = Summary(value=[Summary.Value(tag="accuracy", simple_value=0.9)])
    writer.add_summary(summary, step)
    """

    class Value:
        def __init__(self, tag="", simple_value=0.0, node_name=""):
            self.tag = tag
            self.simple_value = simple_value
            self.node_name = node_name

        def SerializeToString(self):
            return wire.bytes_field(1, self.tag) + wire.float_field(
                2, float(self.simple_value)
            )

    class _Values(list):
        def add(self, **fields):
            self.append(Summary.Value(**fields))
            return self[-1]

    def __init__(self, value=()):
        self.value = Summary._Values(value)

    def SerializeToString(self):
        return b"".join(wire.bytes_field(1, v.SerializeToString()) for v in self.value)

    def ParseFromString(self, data):
        """Takes in the numbers of a summary's bytes."""
        for number, content in wire.fields(data):
            if number != 1:
                continue
            value = Summary.Value()
            for field, x in wire.fields(content):
                if field == 1:
                    value.tag = x.decode()
                elif field == 2:
                    value.simple_value = struct.unpack("<f", x)[0]
            self.value.append(value)

    @classmethod
    def FromString(cls, data):
        summary = cls()
        summary.ParseFromString(data)
        return summary
