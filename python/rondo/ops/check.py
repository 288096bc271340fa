"""Assertions that are checked when a session runs them.

Each gives an operation, which runs where it is fetched or asked for by
control_dependencies. What is known to fail while the graph is built fails there.
"""

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, make
from ..framework.dtypes import as_dtype
from ..framework.variable import no_op
from . import array, math
from .printing import pieces


def Assert(condition, data, summarize=None, name=None):
    """Fails the run unless `condition`, a bool scalar, holds. `data`, tensors and
    texts, is part of the error: the first `summarize` elements of each (3)."""
    condition = convert_to_tensor(condition, "bool")
    if not isinstance(data, (list, tuple)):
        raise InvalidArgumentError("Assert: data must be a list")
    texts, tensors = pieces(data, condition.graph, " ")
    texts = [text.strip() for text in texts]
    attrs = {"texts": texts, "summarize": 3 if summarize is None else int(summarize)}
    return make("Assert", [condition, *tensors], attrs, name)


def _holds(condition, texts, given, data, summarize, message, name):
    """`condition` for every element; `texts` and `given` say what is wrong."""
    if data is None:
        data = [f"{texts}:"]
        for x in given:
            data += [f"{x.name} =", x]
    if message:
        data = [f"{message}:", *data]
    return Assert(math.reduce_all(condition), data, summarize, name)


def _pair(x, y):
    if not hasattr(x, "graph") and hasattr(y, "graph"):
        y = convert_to_tensor(y)
        return convert_to_tensor(x, y.dtype, graph=y.graph), y
    x = convert_to_tensor(x)
    return x, convert_to_tensor(y, x.dtype, graph=x.graph)


def _compared(sign, compare, x, y, data, summarize, message, name):
    x, y = _pair(x, y)
    texts = f"x {sign} y does not hold for every element"
    return _holds(compare(x, y), texts, [x, y], data, summarize, message, name)


def assert_equal(x, y, data=None, summarize=None, message=None, name=None):
    """x == y, element by element."""
    return _compared("==", math.equal, x, y, data, summarize, message, name)


def assert_none_equal(x, y, data=None, summarize=None, message=None, name=None):
    """x != y, element by element."""
    return _compared("!=", math.not_equal, x, y, data, summarize, message, name)


def assert_less(x, y, data=None, summarize=None, message=None, name=None):
    """x < y, element by element."""
    return _compared("<", math.less, x, y, data, summarize, message, name)


def assert_less_equal(x, y, data=None, summarize=None, message=None, name=None):
    """x <= y, element by element."""
    return _compared("<=", math.less_equal, x, y, data, summarize, message, name)


def assert_greater(x, y, data=None, summarize=None, message=None, name=None):
    """x > y, element by element."""
    return _compared(">", math.greater, x, y, data, summarize, message, name)


def assert_greater_equal(x, y, data=None, summarize=None, message=None, name=None):
    """x >= y, element by element."""
    return _compared(">=", math.greater_equal, x, y, data, summarize, message, name)


def assert_near(
    x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None
):
    """|x - y| <= atol + rtol |y|, element by element; both are ten times the
    type's precision unless told otherwise."""
    x, y = _pair(x, y)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"assert_near: x has type {x.dtype.name}, expected a floating-point type"
        )
    bits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[x.dtype.name]
    rtol = 10 * 2.0**-bits if rtol is None else rtol
    atol = 10 * 2.0**-bits if atol is None else atol
    near = math.less_equal(math.abs(x - y), atol + rtol * math.abs(y))
    texts = "x and y are not near each other for every element"
    return _holds(near, texts, [x, y], data, summarize, message, name)


def _against_zero(sign, compare, x, data, summarize, message, name):
    x = convert_to_tensor(x)
    zero = convert_to_tensor(np.zeros((), np.int8).tolist(), x.dtype, graph=x.graph)
    texts = f"x {sign} 0 does not hold for every element"
    return _holds(compare(x, zero), texts, [x], data, summarize, message, name)


def assert_positive(x, data=None, summarize=None, message=None, name=None):
    """x > 0, element by element."""
    return _against_zero(">", math.greater, x, data, summarize, message, name)


def assert_negative(x, data=None, summarize=None, message=None, name=None):
    """x < 0, element by element."""
    return _against_zero("<", math.less, x, data, summarize, message, name)


def assert_non_negative(x, data=None, summarize=None, message=None, name=None):
    """x >= 0, element by element."""
    return _against_zero(">=", math.greater_equal, x, data, summarize, message, name)


def assert_non_positive(x, data=None, summarize=None, message=None, name=None):
    """x <= 0, element by element."""
    return _against_zero("<=", math.less_equal, x, data, summarize, message, name)


def _ranked(x, wanted, known_holds, holds, data, summarize, message, name):
    """By what is known of the shape, or in the run."""
    x = convert_to_tensor(x)
    texts = f"the rank of {x.name} is not {wanted}"
    if x.shape.ndims is not None:
        if not known_holds(x.shape.ndims):
            before = f"{message}: " if message else ""
            raise InvalidArgumentError(f"{before}{texts}: its shape is {x.shape}")
        return no_op(name)
    if data is None:
        data = [f"{texts}: its shape is", array.shape(x)]
    if message:
        data = [f"{message}:", *data]
    return Assert(holds(array.rank(x)), data, summarize, name)


def assert_rank(x, rank, data=None, summarize=None, message=None, name=None):
    """x has this rank, an int."""
    return _ranked(
        x,
        rank,
        lambda known: known == rank,
        lambda r: math.equal(r, rank),
        *(data, summarize, message, name),
    )


def assert_rank_at_least(x, rank, data=None, summarize=None, message=None, name=None):
    """x has at least this rank, an int."""
    return _ranked(
        x,
        f"{rank} or more",
        lambda known: known >= rank,
        lambda r: math.greater_equal(r, rank),
        *(data, summarize, message, name),
    )


def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
    """x has one of these ranks, ints."""
    ranks = tuple(ranks)
    return _ranked(
        x,
        " or ".join(str(r) for r in ranks),
        lambda known: known in ranks,
        lambda r: math.reduce_any(math.equal(r, np.array(ranks, np.int64))),
        *(data, summarize, message, name),
    )


def assert_scalar(tensor, name=None, message=None):
    """The tensor, which has rank 0 as far as is known."""
    tensor = convert_to_tensor(tensor)
    assert_rank(tensor, 0, message=message, name=name)
    return tensor


def assert_type(tensor, tf_type, message=None, name=None):
    """The tensor has this element type; checked at once."""
    tensor, wanted = convert_to_tensor(tensor), as_dtype(tf_type)
    if tensor.dtype != wanted:
        before = f"{message}: " if message else ""
        raise InvalidArgumentError(
            f"{before}{tensor.name} has type {tensor.dtype.name}, expected "
            f"{wanted.name}"
        )
    return no_op(name)


def assert_integer(x, message=None, name=None):
    """The tensor has an integer type; checked at once."""
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        before = f"{message}: " if message else ""
        raise InvalidArgumentError(
            f"{before}{x.name} has type {x.dtype.name}, expected an integer type"
        )
    return no_op(name)
