"""Arithmetic and reductions, as TensorFlow 1 calls them."""

import numpy as np

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ._old_names import accepting

_AXES = {"reduction_indices": "axis", "keep_dims": "keepdims"}
_REDUCE = ("input_tensor", "axis", "keepdims", "name", "axis", "keepdims")

reduce_sum = accepting(rd.reduce_sum, order=_REDUCE, **_AXES)
reduce_mean = accepting(rd.reduce_mean, order=_REDUCE, **_AXES)
reduce_prod = accepting(rd.reduce_prod, order=_REDUCE, **_AXES)
reduce_max = accepting(rd.reduce_max, order=_REDUCE, **_AXES)
reduce_min = accepting(rd.reduce_min, order=_REDUCE, **_AXES)
reduce_all = accepting(rd.reduce_all, order=_REDUCE, **_AXES)
reduce_any = accepting(rd.reduce_any, order=_REDUCE, **_AXES)
reduce_logsumexp = accepting(rd.reduce_logsumexp, order=_REDUCE, **_AXES)

_ARG = ("input", "axis", "name", "axis", "output_type")


def _arg(function):
    inner = accepting(function, dimension="axis", order=_ARG)

    def call(input, axis=None, name=None, dimension=None, output_type="int64"):
        axis = dimension if axis is None else axis
        axis = 0 if axis is None else axis
        return inner(
            input=input, axis=_number(axis), output_type=output_type, name=name
        )

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _number(x):
    """An axis that a program wrote as a constant tensor."""
    if hasattr(x, "op") and x.op.type == "Const":
        return int(x.op.get_attr("value"))
    return x


argmax, argmin = _arg(rd.argmax), _arg(rd.argmin)
arg_max, arg_min = argmax, argmin

matmul = accepting(
    rd.matmul,
    ignored=("a_is_sparse", "b_is_sparse"),
    refused=("adjoint_a", "adjoint_b"),
)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta and so on, up to before limit."""
    return rd.range(start, limit, delta, dtype, name)


def lin_space(start, stop, num, name=None):
    """num numbers from start to stop, at equal distances."""
    parts = rd.cast(rd.range(num), "float32")
    start, stop = (
        rd.cast(_convert(start), "float32"),
        rd.cast(_convert(stop), "float32"),
    )
    return rd.add(start, parts * ((stop - start) / float(max(num - 1, 1))), name)


linspace = lin_space


def reciprocal(x, name=None):
    """1 / x."""
    return rd.truediv(1.0, _convert(x), name)


def expm1(x, name=None):
    """e^x - 1."""
    return rd.subtract(rd.exp(x), 1.0, name)


def log_sigmoid(x, name=None):
    """log(1 / (1 + e^-x))."""
    return rd.negative(rd.nn.softplus(rd.negative(x)), name)


def tan(x, name=None):
    """The tangent."""
    return rd.divide(rd.sin(x), rd.cos(x), name)


def sinh(x, name=None):
    """The hyperbolic sine."""
    x = _convert(x)
    return rd.multiply(rd.exp(x) - rd.exp(-x), 0.5, name)


def cosh(x, name=None):
    """The hyperbolic cosine."""
    x = _convert(x)
    return rd.multiply(rd.exp(x) + rd.exp(-x), 0.5, name)


def is_inf(x, name=None):
    """Whether an element is infinite."""
    return rd.equal(rd.abs(x), float("inf"), name)


def is_finite(x, name=None):
    """Whether an element is a finite number."""
    return rd.less(rd.abs(x), float("inf"), name)


def logical_xor(x, y, name="LogicalXor"):
    """Whether just one is true."""
    return rd.not_equal(x, y, name)


def to_double(x, name=None):
    """x as float64."""
    return rd.cast(x, "float64", name)


def saturate_cast(value, dtype, name=None):
    """x as another type, cut at its limits."""
    kind = rd.as_dtype(dtype)
    value = _convert(value)
    if kind.is_integer:
        limits = np.iinfo(kind.as_numpy_dtype)
        low, high = (value.dtype.as_numpy_dtype(v) for v in (limits.min, limits.max))
        value = rd.minimum(rd.maximum(value, low), high)
    return rd.cast(value, kind, name)


def count_nonzero(
    input_tensor, axis=None, keepdims=None, dtype="int64", name=None,
    reduction_indices=None, keep_dims=None,
):  # fmt: skip
    """How many elements are not 0."""
    axis = reduction_indices if axis is None else axis
    x = _convert(input_tensor)
    there = rd.cast(rd.not_equal(x, x.dtype.as_numpy_dtype(0)), dtype)
    return rd.reduce_sum(there, axis, bool(keepdims or keep_dims), name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors."""
    return rd.add_n(inputs, name)


def scalar_mul(scalar, x):
    return rd.multiply(x, scalar)


def tensordot(a, b, axes, name=None):
    """The sum over pairs of axes; `axes` is a number of last and first axes, or two
    lists."""
    a, b = _convert(a), _convert(b)
    rank_a, rank_b = a.shape.ndims, b.shape.ndims
    if rank_a is None or rank_b is None:
        raise InvalidArgumentError("tensordot: both ranks must be known")
    if isinstance(axes, int):
        from_a, from_b = list(np.arange(rank_a - axes, rank_a)), list(np.arange(axes))
    else:
        from_a, from_b = ([x] if isinstance(x, int) else list(x) for x in axes)
    from_a = [int(i) % rank_a for i in from_a]
    from_b = [int(i) % rank_b for i in from_b]
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:rank_a])
    right = list(letters[rank_a : rank_a + rank_b])
    for i, j in zip(from_a, from_b):  # noqa: B905
        right[j] = left[i]
    out = [c for i, c in enumerate(left) if i not in from_a]
    out += [c for j, c in enumerate(right) if j not in from_b]
    return rd.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """The norm over axes: "euclidean", 1, 2 or infinity."""
    x = _convert(tensor)
    keep = bool(keepdims or keep_dims)
    if ord in ("euclidean", "fro", 2):
        return rd.sqrt(rd.reduce_sum(rd.square(x), axis, keep), name)
    if ord == 1:
        return rd.reduce_sum(rd.abs(x), axis, keep, name)
    if ord == np.inf:
        return rd.reduce_max(rd.abs(x), axis, keep, name)
    raise InvalidArgumentError(f"norm: ord {ord!r}; expected 'euclidean', 1, 2 or inf")


def trace(x, name=None):
    """The sum of the diagonal."""
    return rd.reduce_sum(rd.matrix_diag_part(x), -1, name=name)


def unsorted_segment_sum(data, segment_ids, num_segments, name=None):
    """The sums of the slices of each number."""
    data = _convert(data)
    ids = rd.expand_dims(rd.cast(_convert(segment_ids), "int64"), 1)
    rest = data.shape[1:].as_list()
    return rd.scatter_nd(ids, data, [num_segments, *rest], name)


def confusion_matrix(
    labels, predictions, num_classes=None, dtype="int32", name=None, weights=None
):
    """How often a class (row) was predicted to be another one (column)."""
    if num_classes is None:
        raise InvalidArgumentError("confusion_matrix: it needs num_classes")
    rows = rd.one_hot(rd.cast(_convert(labels), "int64"), num_classes)
    if weights is not None:
        rows = rows * rd.expand_dims(rd.cast(_convert(weights), "float32"), 1)
    columns = rd.one_hot(rd.cast(_convert(predictions), "int64"), num_classes)
    return rd.cast(rd.matmul(rows, columns, transpose_a=True), dtype, name)


__all__ = [
    "accumulate_n",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "confusion_matrix",
    "cosh",
    "count_nonzero",
    "expm1",
    "is_finite",
    "is_inf",
    "lin_space",
    "linspace",
    "log_sigmoid",
    "logical_xor",
    "matmul",
    "norm",
    "range",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "saturate_cast",
    "scalar_mul",
    "sinh",
    "tan",
    "tensordot",
    "to_double",
    "trace",
    "unsorted_segment_sum",
]
