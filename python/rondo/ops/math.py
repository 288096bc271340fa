"""Element-wise arithmetic, comparisons and reductions."""

import builtins

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, one, static_ints
from ..framework.dtypes import as_dtype
from ..framework.tensor import IndexedSlices


def add(x, y, name=None):
    """x + y, broadcast."""
    return one("Add", [x, y], name=name)


def subtract(x, y, name=None):
    """x - y, broadcast."""
    return one("Sub", [x, y], name=name)


def multiply(x, y, name=None):
    """x * y, broadcast."""
    return one("Mul", [x, y], name=name)


sub, mul = subtract, multiply


def div(x, y, name=None):
    """x / y; integers are divided towards zero."""
    return one("Div", [x, y], name=name)


def truediv(x, y, name=None):
    """x / y as floating point: integers are converted first."""
    if not hasattr(x, "graph") and hasattr(y, "graph"):
        x = _number_like(x, y)
    x = convert_to_tensor(x)
    if x.dtype.is_floating:
        return one("Div", [x, y], name=name)
    to = "float64" if x.dtype.size > 2 else "float32"
    y = convert_to_tensor(y, None if hasattr(y, "graph") else to)
    return one("Div", [cast(x, to), cast(y, to)], name=name)


divide = truediv


def _number_like(x, y):
    dtype = y.dtype if y.dtype.is_floating else None
    return convert_to_tensor(x, dtype, graph=y.graph)


def floordiv(x, y, name=None):
    """x / y, rounded down."""
    return one("FloorDiv", [x, y], name=name)


floor_div = floordiv


def mod(x, y, name=None):
    """What floordiv leaves: of the sign of y."""
    return one("Mod", [x, y], name=name)


floormod = mod


def pow(x, y, name=None):
    """x to the power y."""
    return one("Pow", [x, y], name=name)


def maximum(x, y, name=None):
    """The larger of x and y, element by element."""
    return one("Maximum", [x, y], name=name)


def minimum(x, y, name=None):
    """The smaller of x and y, element by element."""
    return one("Minimum", [x, y], name=name)


def squared_difference(x, y, name=None):
    """(x - y) squared."""
    return one("SquaredDifference", [x, y], name=name)


def add_n(inputs, name=None):
    """The sum of tensors of one shape."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if len(inputs) == 1 and not isinstance(inputs[0], IndexedSlices):
        return one("Identity", inputs, name=name)
    return one("AddN", inputs, name=name)


def negative(x, name=None):
    """-x."""
    return one("Neg", [x], name=name)


neg = negative


def abs(x, name=None):
    """The absolute value."""
    return one("Abs", [x], name=name)


def sign(x, name=None):
    """-1, 0 or 1."""
    return one("Sign", [x], name=name)


def exp(x, name=None):
    """e to the power x."""
    return one("Exp", [x], name=name)


def log(x, name=None):
    """The natural logarithm."""
    return one("Log", [x], name=name)


def log1p(x, name=None):
    """log(1 + x), right also near 0."""
    return one("Log1p", [x], name=name)


def sqrt(x, name=None):
    """The square root."""
    return one("Sqrt", [x], name=name)


def rsqrt(x, name=None):
    """1 / the square root."""
    return one("Rsqrt", [x], name=name)


def square(x, name=None):
    """x * x."""
    return one("Square", [x], name=name)


def sin(x, name=None):
    """The sine."""
    return one("Sin", [x], name=name)


def cos(x, name=None):
    """The cosine."""
    return one("Cos", [x], name=name)


def tanh(x, name=None):
    """The hyperbolic tangent."""
    return one("Tanh", [x], name=name)


def sigmoid(x, name=None):
    """1 / (1 + e^-x)."""
    return one("Sigmoid", [x], name=name)


def floor(x, name=None):
    """The largest whole number that is not above x."""
    return one("Floor", [x], name=name)


def ceil(x, name=None):
    """The smallest whole number that is not below x."""
    return one("Ceil", [x], name=name)


def round(x, name=None):
    """The nearest whole number; halves go to the even one."""
    return one("Round", [x], name=name)


def is_nan(x, name=None):
    """Whether an element is not a number."""
    return one("IsNan", [x], name=name)


def check_numerics(tensor, message="", name=None):
    """The tensor; a run fails with `message` when an element is NaN or infinite."""
    return one("CheckNumerics", [tensor], {"message": message}, name)


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """t with its elements brought within the two values."""
    return one("ClipByValue", [t, clip_value_min, clip_value_max], name=name)


def greater(x, y, name=None):
    """Whether x > y."""
    return one("Greater", [x, y], name=name)


def greater_equal(x, y, name=None):
    """Whether x >= y."""
    return one("GreaterEqual", [x, y], name=name)


def less(x, y, name=None):
    """Whether x < y."""
    return one("Less", [x, y], name=name)


def less_equal(x, y, name=None):
    """Whether x <= y."""
    return one("LessEqual", [x, y], name=name)


def equal(x, y, name=None):
    """Whether x == y."""
    return one("Equal", [x, y], name=name)


def not_equal(x, y, name=None):
    """Whether x != y."""
    return one("NotEqual", [x, y], name=name)


def logical_and(x, y, name=None):
    """Whether both are true."""
    return one("LogicalAnd", [x, y], name=name)


def logical_or(x, y, name=None):
    """Whether one is true."""
    return one("LogicalOr", [x, y], name=name)


def logical_not(x, name=None):
    """Whether x is false."""
    return one("LogicalNot", [x], name=name)


def cast(x, dtype, name=None):
    """x with its elements converted; x itself if they are of this type."""
    dtype = as_dtype(dtype)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, dtype), x.indices, x.dense_shape)
    x = convert_to_tensor(x)
    return x if x.dtype == dtype else one("Cast", [x], {"dtype": dtype}, name)


def to_float(x, name=None):
    """x as float32."""
    return cast(x, "float32", name)


def to_int32(x, name=None):
    """x as int32."""
    return cast(x, "int32", name)


def to_int64(x, name=None):
    """x as int64."""
    return cast(x, "int64", name)


def _reduce(op, x, axis, keepdims, name):
    x = convert_to_tensor(x)
    if axis is None:
        axes = []
    else:
        axes = static_ints(axis)
        if not axes:  # over none: each element by itself
            return one("Identity", [x], name=name)
    return one(op, [x], {"axes": axes, "keep_dims": builtins.bool(keepdims)}, name)


def reduce_sum(input_tensor, axis=None, keepdims=False, name=None):
    """The sum over axes, or over all."""
    return _reduce("Sum", input_tensor, axis, keepdims, name)


def reduce_mean(input_tensor, axis=None, keepdims=False, name=None):
    """The mean over axes, or over all."""
    return _reduce("Mean", input_tensor, axis, keepdims, name)


def reduce_prod(input_tensor, axis=None, keepdims=False, name=None):
    """The product over axes, or over all."""
    return _reduce("Prod", input_tensor, axis, keepdims, name)


def reduce_max(input_tensor, axis=None, keepdims=False, name=None):
    """The largest element over axes, or over all."""
    return _reduce("Max", input_tensor, axis, keepdims, name)


def reduce_min(input_tensor, axis=None, keepdims=False, name=None):
    """The smallest element over axes, or over all."""
    return _reduce("Min", input_tensor, axis, keepdims, name)


def reduce_all(input_tensor, axis=None, keepdims=False, name=None):
    """Whether all elements over axes are true."""
    return _reduce("All", input_tensor, axis, keepdims, name)


def reduce_any(input_tensor, axis=None, keepdims=False, name=None):
    """Whether any element over axes is true."""
    return _reduce("Any", input_tensor, axis, keepdims, name)


def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    """log(sum(exp(x))) over axes, without overflow."""
    return _reduce("LogSumExp", input_tensor, axis, keepdims, name)


def global_norm(t_list, name=None):
    """The root of the sum of the squares of all elements of all tensors."""
    halves = [one("L2Loss", [_dense_values(t)]) for t in t_list if t is not None]
    if not halves:
        raise InvalidArgumentError("global_norm: there are no tensors")
    return sqrt(multiply(add_n(halves), 2.0), name)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(tensors, norm): all scaled down together, so that their global norm is at
    most clip_norm; and what it was. An infinite norm makes all NaN."""
    t_list = list(t_list)
    norm = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    clip_norm = convert_to_tensor(clip_norm, norm.dtype)
    scale = truediv(clip_norm, maximum(norm, clip_norm))
    scale = add(scale, subtract(norm, norm))
    return [_scaled(t, scale) for t in t_list], norm


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """t scaled down so that its norm over axes is at most clip_norm."""
    t = convert_to_tensor(t)
    norm = sqrt(reduce_sum(square(t), axes, keepdims=True))
    clip_norm = convert_to_tensor(clip_norm, t.dtype)
    return multiply(t, truediv(clip_norm, maximum(norm, clip_norm)), name)


def _dense_values(t):
    return t.values if isinstance(t, IndexedSlices) else t


def _scaled(t, scale):
    if t is None:
        return None
    if isinstance(t, IndexedSlices):
        return IndexedSlices(_scaled(t.values, scale), t.indices, t.dense_shape)
    t = convert_to_tensor(t)
    return multiply(t, cast(scale, t.dtype))


def argmax(input, axis=0, output_type="int64", name=None):
    """Where along the axis the largest element is, the first of equal ones."""
    return cast(one("ArgMax", [input], {"axis": axis}, name), output_type)


def argmin(input, axis=0, output_type="int64", name=None):
    """Where along the axis the smallest element is, the first of equal ones."""
    return cast(one("ArgMin", [input], {"axis": axis}, name), output_type)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """The running sum along an axis."""
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return one("CumSum", [x], attrs, name)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta and so on, up to before limit; of 0 if only one
    number is given."""
    if limit is None:
        start, limit = 0, start
    if dtype is None:
        parts = [convert_to_tensor(x) for x in (start, limit, delta)]
        kinds = [p.dtype for p in parts]
        dtype = next((k for k in kinds if k.is_floating), None) or next(
            (k for k in kinds if k == "int64"), kinds[0]
        )
    parts = [cast(x, dtype) for x in (start, limit, delta)]
    return one("Range", parts, name=name)
