"""Making and moving tensors, as TensorFlow 1 calls it."""

import numpy as np

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ..ops import array as _array
from ._old_names import accepting
from .text import is_text, refuse_string, string, text_constant


def placeholder(dtype, shape=None, name=None):
    """A tensor that every run must be fed."""
    refuse_string(dtype, "placeholder")
    return rd.placeholder(dtype, shape, name)


def placeholder_with_default(input, shape, name=None):
    """A tensor that a run may be fed; else it is `input`."""
    value = _convert(input)
    if value.op.type == "Const":
        # A constant has a shape of its own; what is fed may have another one.
        constant = value.op.get_attr("value")
        made = rd.py_func(lambda: constant, [], value.dtype, name=name)
        made.set_shape(shape)
        return made
    return rd.identity(value, name)


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A tensor that is part of the graph; of a text, its bytes."""
    if is_text(value) or dtype is string:
        if not is_text(value):
            raise InvalidArgumentError(
                "constant: a list of texts is no tensor; make one for each"
            )
        return text_constant(value, name)
    if dtype is not None and not hasattr(value, "graph"):
        dtype = rd.as_dtype(dtype)
        value = _in_type(value, dtype, "constant")
    if verify_shape and shape is not None and list(np.shape(value)) != list(shape):
        raise InvalidArgumentError(
            f"constant: the value has shape {list(np.shape(value))}, not {list(shape)}"
        )
    return rd.constant(value, dtype, shape, name)


def _in_type(value, dtype, who):
    """Numbers in a type, as TensorFlow has it: an array is brought into any, numbers
    of the program lose no fraction."""
    array = np.asarray(value)
    kind = np.dtype(dtype.as_numpy_dtype)
    given = isinstance(value, (np.ndarray, np.generic))
    if not given and array.dtype.kind == "f" and kind.kind in "iu":
        raise InvalidArgumentError(
            f"{who}: {value!r} has a fraction, {dtype.name} has none; cast it"
        )
    return array.astype(kind)


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None):
    """`value` as a tensor."""
    if is_text(value):
        return text_constant(value, name)
    if dtype is not None and not hasattr(value, "graph") and not _has_tensors(value):
        value = _in_type(value, rd.as_dtype(dtype), "convert_to_tensor")
    return rd.convert_to_tensor(value, dtype, name)


def _has_tensors(value):
    return isinstance(value, (list, tuple)) and any(
        hasattr(x, "graph") or _has_tensors(x) for x in value
    )


def zeros(shape, dtype="float32", name=None):
    """A tensor of this shape with every element 0."""
    return _array.zeros(shape, dtype, name)


def ones(shape, dtype="float32", name=None):
    """A tensor of this shape with every element 1."""
    return _array.ones(shape, dtype, name)


def shape(input, name=None, out_type="int32"):
    """The extents as a vector of int32."""
    return _array.shape(input, name, out_type)


def shape_n(input, out_type="int32", name=None):
    return [shape(x, out_type=out_type) for x in input]


def size(input, name=None, out_type="int32"):
    """The number of elements, int32."""
    return _array.size(input, name, out_type)


def rank(input, name=None):
    """The number of extents, int32."""
    return rd.to_int32(_array.rank(input, name))


def gather(params, indices, validate_indices=None, name=None, axis=0, batch_dims=0):
    """The slices along an axis that `indices` name."""
    if batch_dims:
        raise InvalidArgumentError("gather: batch_dims is not supported; use gather_nd")
    return rd.gather(params, indices, axis, name)


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, y elsewhere; a vector chooses rows."""
    if x is None or y is None:
        return rd.where(condition, x, y, name)
    condition, x = _convert(condition), _convert(x)
    ranks = condition.shape.ndims, x.shape.ndims
    if ranks[0] == 1 and ranks[1] is not None and ranks[1] > 1:
        condition = rd.reshape(condition, [-1] + [1] * (ranks[1] - 1))
    return rd.where(condition, x, y, name)


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    """The identity matrix."""
    if batch_shape is not None:
        raise InvalidArgumentError("eye: batch_shape is not supported; use tf.tile")
    kind = rd.as_dtype(dtype).as_numpy_dtype
    return rd.constant(np.eye(num_rows, num_columns).astype(kind), name=name or "eye")


def diag(diagonal, name=None):
    """The matrix with this diagonal."""
    return rd.matrix_diag(diagonal, name=name)


def meshgrid(*args, indexing="xy", name=None):
    """The coordinates of a grid, one tensor for each axis."""
    vectors = [_convert(x) for x in args]
    if indexing not in ("xy", "ij") or len(vectors) > 2:
        raise InvalidArgumentError("meshgrid: expected one or two vectors")
    if len(vectors) == 1:
        return vectors
    x, y = vectors
    if indexing == "xy":
        rows, columns = rd.expand_dims(y, 1), rd.expand_dims(x, 0)
        return [columns + rd.zeros_like(rows), rows + rd.zeros_like(columns)]
    rows, columns = rd.expand_dims(x, 1), rd.expand_dims(y, 0)
    return [rows + rd.zeros_like(columns), columns + rd.zeros_like(rows)]


def dynamic_partition(data, partitions, num_partitions, name=None):
    """The slices of each number, as a list."""
    partitions = _convert(partitions)
    return [
        rd.boolean_mask(data, rd.equal(partitions, np.array(i, _kind(partitions))))
        for i in range(num_partitions)
    ]


def _kind(tensor):
    return tensor.dtype.as_numpy_dtype


def sparse_to_dense(
    sparse_indices, output_shape, sparse_values, default_value=0,
    validate_indices=True, name=None,
):  # fmt: skip
    """A tensor with these values at these places, and default_value elsewhere."""
    values = _convert(sparse_values)
    indices = rd.cast(_convert(sparse_indices), "int64")
    if indices.shape.ndims == 1:
        indices = rd.expand_dims(indices, 1)
    if values.shape.ndims == 0:
        values = values + rd.zeros_like(rd.cast(indices[:, 0], values.dtype))
    if default_value == 0:
        return rd.scatter_nd(indices, values, output_shape, name)
    there = rd.scatter_nd(indices, rd.ones_like(values), output_shape)
    spread = rd.scatter_nd(indices, values, output_shape)
    empty = rd.equal(there, np.array(0, _kind(values)))
    other = rd.zeros_like(spread) + np.array(default_value, _kind(values))
    return rd.where(empty, other, spread, name)


def random_crop(value, size, seed=None, name=None):
    """A part of this size, at a random place."""
    value = _convert(value)
    extents = _array.shape(value)
    last = rd.cast(extents, "float32") - rd.cast(_convert(size), "float32") + 1.0
    place = rd.random_uniform([len(size)], seed=seed) * last
    return rd.slice(value, rd.cast(rd.floor(place), "int64"), size, name)


def unique(x, out_idx="int32", name=None):
    return rd.unique(x, out_idx, name)


def unique_with_counts(x, out_idx="int32", name=None):
    return rd.unique_with_counts(x, out_idx, name)


expand_dims = accepting(rd.expand_dims, dim="axis")
squeeze = accepting(
    rd.squeeze, squeeze_dims="axis", order=("input", "axis", "name", "squeeze_dims")
)
split = accepting(
    rd.split,
    ignored=("num",),
    split_dim="axis",
    order=("value", "num_or_size_splits", "axis", "num", "name"),
)
pad = rd.pad
boolean_mask = rd.boolean_mask
concat = accepting(rd.concat, concat_dim="axis")
pack, unpack = rd.stack, rd.unstack
transpose = accepting(rd.transpose, refused=("conjugate",))
sequence_mask = rd.sequence_mask
one_hot = rd.one_hot
reverse_v2 = rd.reverse


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes swapped."""
    a = _convert(a)
    n = a.shape.ndims
    if n is None:
        raise InvalidArgumentError("matrix_transpose: the rank is not known")
    return rd.transpose(a, [*range(n - 2), n - 1, n - 2], name)


__all__ = [
    "boolean_mask",
    "concat",
    "constant",
    "convert_to_tensor",
    "diag",
    "dynamic_partition",
    "expand_dims",
    "eye",
    "gather",
    "matrix_transpose",
    "meshgrid",
    "one_hot",
    "ones",
    "pack",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "random_crop",
    "rank",
    "reverse_v2",
    "sequence_mask",
    "shape",
    "shape_n",
    "size",
    "sparse_to_dense",
    "split",
    "squeeze",
    "transpose",
    "unique",
    "unique_with_counts",
    "unpack",
    "where",
    "zeros",
]
