"""Making operations: inputs of any kind become tensors of the right type."""

import os
import sys

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError
from .dtypes import as_dtype
from .graph import get_default_graph
from .op_gradients import gradient_for, with_gradient
from .shape import TensorShape
from .tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_specs = {}


def origin():
    """The line of the program that called into the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def graph_of(inputs):
    """The graph of the first tensor among the inputs, or the default one."""
    for x in inputs:
        graph = getattr(x, "graph", None)
        if graph is not None:
            return graph
        if isinstance(x, (list, tuple)) and x:
            graph = _graph_within(x)
            if graph is not None:
                return graph
    return get_default_graph()


def _graph_within(items):
    for x in items:
        if isinstance(x, (list, tuple)):
            found = _graph_within(x)
            if found is not None:
                return found
        elif getattr(x, "graph", None) is not None:
            return x.graph
    return None


def make(op, inputs=(), attrs=None, name=None, control_inputs=(), graph=None):
    """A node of operation `op`; what its inputs are not told, is as in NumPy.

    Inputs that are not tensors take the type of the tensors that must have the
    same one.
    """
    spec = _specs.get(op) or _spec(op)
    graph = graph or graph_of(inputs)
    graph._check_open(op)
    hints = {}
    tensors = []
    for i, x in enumerate(inputs):
        if hasattr(x, "_as_tensor"):
            x = x._as_tensor()
        tensors.append(x)
        group = spec[min(i, len(spec) - 1)][0] if spec else 0
        if group and isinstance(x, Tensor):
            hints.setdefault(group, x.dtype)
    values = []
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            group, types = spec[min(i, len(spec) - 1)] if spec else (0, "any type")
            x = convert_to_tensor(x, dtype=hints.get(group), graph=graph, types=types)
            if group:
                hints.setdefault(group, x.dtype)
        values.append(x._value)
    line = origin()
    node = graph._core.add(
        op, values, attrs or {}, name or "", list(control_inputs), line
    )
    made = graph._added(node)
    gradient = gradient_for(graph, op)
    return made if gradient is None else with_gradient(made, gradient, line)


def make_on(device, op, inputs, attrs, name, graph):
    """The same, for this device whatever the scopes around say; None: they say."""
    made = make(op, inputs, attrs, name, graph=graph)
    if device is not None:
        made._node.device = device
    return made


def one(op, inputs=(), attrs=None, name=None):
    """The only, or first, output of a new node."""
    made = make(op, inputs, attrs, name)
    return Tensor(made._node.outputs[0], made.graph)


def several(op, inputs=(), attrs=None, name=None):
    """All outputs of a new node."""
    return make(op, inputs, attrs, name).outputs


def _spec(op):
    known = _core.operation(op)
    if known is None:
        raise InvalidArgumentError(f'there is no operation "{op}"')
    _specs[op] = [(i["type_group"], i["types"]) for i in known["inputs"]]
    return _specs[op]


def convert_to_tensor(value, dtype=None, name=None, graph=None, types="any type"):
    """`value` as a tensor: itself, or a constant of the graph.

    Python's floats become float32 and its ints int32; NumPy's arrays keep their
    type. Lists may have tensors in them, which are stacked.
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if hasattr(value, "_as_tensor"):
        value = value._as_tensor()
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype != dtype:
            raise InvalidArgumentError(
                f'tensor "{value.name}" has type {value.dtype.name}, expected '
                f"{dtype.name}; use rondo.cast"
            )
        return value
    if isinstance(value, (list, tuple)) and _graph_within(value) is not None:
        return _stack(value, dtype, name, types)
    graph = graph or get_default_graph()
    graph._check_open("Const")
    node = graph._core.add(
        "Const", [], {"value": to_array(value, dtype, types)}, name or "", [], origin()
    )
    graph._added(node)
    return Tensor(node.outputs[0], graph)


def _stack(values, dtype, name, types):
    if dtype is None:
        for x in values:
            if hasattr(x, "dtype") and not isinstance(x, np.generic):
                dtype = x.dtype
                break
    graph = graph_of(values)
    parts = [convert_to_tensor(x, dtype, None, graph, types) for x in values]
    return one("Stack", parts, {"axis": 0}, name)


def to_array(value, dtype=None, types="any type"):
    """A NumPy array of a constant; an error where its type cannot hold it."""
    if isinstance(value, TensorShape):
        value = value.as_list()
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "USMmcV" and not _is_bf16(array):
        raise InvalidArgumentError(
            f"{value!r} of type {type(value).__name__} cannot be made a tensor"
        )
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        if array.dtype == np.float64 or array.size == 0:
            dtype = as_dtype("int64" if types == "i32 or i64" else "float32")
        elif array.dtype == np.int64:
            if types == "a floating-point type":
                dtype = as_dtype("float32")
            elif array.size == 0 or abs(array).max() < 2**31:
                dtype = as_dtype("int32")
    if dtype is None or dtype == array.dtype:
        return array
    if array.size and not _fits(array, dtype):
        raise InvalidArgumentError(
            f"{value!r} has type {array.dtype.name}, which does not fit {dtype.name}"
        )
    return array.astype(dtype.as_numpy_dtype)


def _is_bf16(array):
    return array.dtype.name == "bfloat16"


def _fits(array, dtype):
    """Whether a constant or feed may be converted: never from fractions to ints,
    and never to ints that are too small."""
    if dtype.is_floating:
        return array.dtype.kind in "fiub" or _is_bf16(array)
    if dtype.is_bool:
        return array.dtype.kind == "b"
    if array.dtype.kind not in "iub":
        return False
    limits = np.iinfo(dtype.as_numpy_dtype)
    return limits.min <= array.min() and array.max() <= limits.max


def shape_tensor(shape, graph=None):
    """A shape from a list, a TensorShape or a tensor: a vector of ints."""
    if hasattr(shape, "_as_tensor"):
        shape = shape._as_tensor()
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, (int, np.integer)):
        shape = [shape]
    if isinstance(shape, (list, tuple)) and _graph_within(shape) is not None:
        return _stack([as_int64(x) for x in shape], as_dtype("int64"), None, "")
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    try:
        extents = np.array([int(d) for d in shape], np.int64)
    except TypeError:
        raise InvalidArgumentError(
            f"{shape!r} is not a shape: expected extents that are all known"
        ) from None
    return convert_to_tensor(extents, graph=graph)


def as_int64(x):
    """A scalar for a vector of int64: tensors of other types are cast."""
    if hasattr(x, "_as_tensor"):
        x = x._as_tensor()
    if isinstance(x, Tensor) and x.dtype != "int64":
        return one("Cast", [x], {"dtype": "int64"})
    return x


def static_ints(value):
    """A list of ints of an argument that must be known while building."""
    if isinstance(value, (int, np.integer)):
        return [int(value)]
    if isinstance(value, Tensor):
        op = value.op
        if op.type != "Const":
            raise InvalidArgumentError(
                f'"{value.name}" must be a constant here: its value shapes the graph'
            )
        value = op.get_attr("value").reshape(-1)
    return [int(x) for x in value]
