"""From bytes to tensors: examples, lines of numbers, raw data."""

import collections
import csv

import numpy as np

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from .example import Example, check_count, values_of
from .text import bytes_dtype, mark_text, string

FixedLenFeature = collections.namedtuple(
    "FixedLenFeature", ["shape", "dtype", "default_value"], defaults=[None]
)
FixedLenFeature.__doc__ = "A feature that has one tensor of this shape."


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature of any length: a vector here, where TensorFlow has it sparse."""


def parse_single_example(serialized, features, name=None, example_names=None):
    """The features of an Example, given as bytes: {name: tensor}."""
    names = sorted(features)
    types = [bytes_dtype(features[n].dtype) for n in names]

    def parse(data):
        example = Example.FromString(np.asarray(data).tobytes())
        return [_value(example, n, features[n]) for n in names]

    tensors = rd.py_func(parse, [serialized], types, name=name or "ParseExample")
    found = dict(zip(names, tensors))  # noqa: B905
    for n, tensor in found.items():
        feature = features[n]
        if feature.dtype is string:
            mark_text(tensor)
            tensor.set_shape([None])
        elif isinstance(feature, FixedLenFeature):
            tensor.set_shape(feature.shape)
        else:
            tensor.set_shape([None])
    return found


def _value(example, name, feature):
    values = values_of(example, name)
    fixed = isinstance(feature, FixedLenFeature)
    if values is None and fixed:
        if feature.default_value is None:
            raise InvalidArgumentError(f'the example has no feature "{name}"')
        values = np.ravel(feature.default_value).tolist()
    values = values or []
    if feature.dtype is string:
        check_count(name, values, 1)
        data = values[0].encode() if isinstance(values[0], str) else values[0]
        return np.frombuffer(data, np.uint8)
    kind = rd.as_dtype(feature.dtype).as_numpy_dtype
    array = np.asarray(values, kind)
    if not fixed:
        return array
    check_count(name, values, int(np.prod(feature.shape, dtype=np.int64)))
    return array.reshape(feature.shape)


def decode_raw(bytes, out_type, little_endian=True, name=None):
    """Bytes as numbers of a type."""
    kind = np.dtype(rd.as_dtype(out_type).as_numpy_dtype)
    order = kind.newbyteorder("<" if little_endian else ">")

    def decode(data):
        data = np.ascontiguousarray(data)
        return data.view(order).astype(kind)

    data = _convert(bytes)
    made = rd.py_func(decode, [data], kind, name=name or "DecodeRaw")
    made.set_shape([*data.shape[:-1], None] if data.shape.ndims else [None])
    return made


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True,
               name=None, na_value=""):  # fmt: skip
    """The fields of a line: one scalar for each of record_defaults, which says its
    type and what an empty one is."""
    defaults = [_default(d) for d in record_defaults]
    quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE

    def parse(data):
        line = np.asarray(data).tobytes().decode()
        rows = list(csv.reader([line], delimiter=field_delim, quoting=quoting))
        fields = rows[0] if rows else []
        if len(fields) != len(defaults):
            raise InvalidArgumentError(
                f"decode_csv: {line!r} has {len(fields)} fields, expected "
                f"{len(defaults)}"
            )
        return [_field(f, d, na_value) for f, d in zip(fields, defaults)]  # noqa: B905

    types = [np.dtype(np.uint8) if isinstance(d, bytes) else d.dtype for d in defaults]
    made = rd.py_func(parse, [records], types, name=name or "DecodeCSV")
    for tensor, default in zip(made, defaults):  # noqa: B905
        if isinstance(default, bytes):
            mark_text(tensor)
            tensor.set_shape([None])
        else:
            tensor.set_shape([])
    return made


def _default(given):
    if hasattr(given, "op") and given.op.type == "Const":
        given = given.op.get_attr("value")
    array = np.ravel(np.asarray(given))
    if array.dtype.kind in "SUO":
        text = array[0] if array.size else ""
        return text.encode() if isinstance(text, str) else bytes(text)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    if array.dtype == np.int64 and not isinstance(given, np.ndarray):
        array = array.astype(np.int32)
    return array


def _field(text, default, na_value):
    if isinstance(default, bytes):
        return np.frombuffer(text.encode() or default, np.uint8)
    if text == na_value:
        if not default.size:
            raise InvalidArgumentError("decode_csv: a field that must be there is not")
        return default[0]
    return np.asarray(text.strip()).astype(default.dtype)


def string_to_number(string_tensor, out_type="float32", name=None):
    """The number that a text says."""
    kind = rd.as_dtype(out_type)

    def parse(data):
        return np.asarray(np.asarray(data).tobytes().decode()).astype(
            kind.as_numpy_dtype
        )

    made = rd.py_func(parse, [string_tensor], kind, name=name or "StringToNumber")
    made.set_shape([])
    return made
