"""Python functions as operations, and gradients of the program's own."""

import functools

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, graph_of, origin
from ..framework.dtypes import as_dtype
from ..framework.graph import GraphKeys
from ..framework.op_gradients import gradient_for, with_gradient
from . import array


class _Called:
    """What a HostCall node calls. The graph keeps it."""

    def __init__(self, function, types):
        self._function = function
        self._types = types

    def call(self, *arrays):
        results = self._function(*arrays)
        if results is None and not self._types:
            return []
        if not isinstance(results, (list, tuple)):
            results = [results]
        if len(results) != len(self._types):
            raise InvalidArgumentError(
                f"the function gave {len(results)} results, expected "
                f"{len(self._types)}, one for each of Tout"
            )
        return [_result(*r) for r in zip(range(len(results)), results, self._types)]  # noqa: B905


def _result(i, value, dtype):
    if value is None:
        raise InvalidArgumentError(
            f"result {i} of the function is None, expected {dtype.name}"
        )
    if not isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value, dtype.as_numpy_dtype)
    if as_dtype(value.dtype) != dtype:
        raise InvalidArgumentError(
            f"result {i} of the function has type {value.dtype}, expected "
            f"{dtype.name}; use .astype"
        )
    return value


def py_func(func, inp, Tout, stateful=True, name=None):
    """The results of a Python function, called in each run.

    `func` takes as many arrays as `inp` has tensors, which it must not change,
    and gives as many arrays as `Tout` has types; a number will do for an array
    without extents. Where Tout is one type and not a list, so is what py_func
    gives. What the function raises fails the run, and is the cause of the error.

    The function lives as long as the graph, and is not saved with it. It has no
    gradient: see rondo.custom_gradient. `stateful` is taken for the sake of
    TensorFlow's programs: the function is called in every run that needs it.
    """
    if not callable(func):
        raise InvalidArgumentError(f"py_func: {func!r} is not a function")
    inp = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    several = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in (Tout if several else [Tout])]
    graph = graph_of(inp)
    graph._check_open("py_func")
    values = [convert_to_tensor(x, graph=graph)._value for x in inp]
    function = _Called(func, types)
    node = _core.add_host_call(
        graph._core, function, values, types, name or "PyFunc", origin()
    )
    graph._host_functions.append(function)
    made = graph._added(node)
    gradient = gradient_for(graph, "HostCall")
    if gradient is not None:
        made = with_gradient(made, gradient, origin())
    if not types:
        return made if not several else []
    return made.outputs if several else made.outputs[0]


class Differentiated:
    """Whom a CustomGradient node asks. The graph keeps it."""

    def __init__(self, graph, function, ys, xs, what="custom_gradient"):
        self._graph = graph
        self._function = function
        self._ys = ys
        self._xs = xs
        self._what = what

    def gradient(self, names):
        with self._graph.as_default():
            grads = [
                self._graph.get_tensor_by_name(name) if name else array.zeros_like(y)
                for name, y in zip(names, self._ys)  # noqa: B905
            ]
            got = self._function(*grads)
            got = list(got) if isinstance(got, (list, tuple)) else [got]
            if len(got) != len(self._xs):
                raise InvalidArgumentError(
                    f"{self._what}: its function gave {len(got)} gradients for "
                    f"{len(self._xs)} arguments"
                )
            return [self._name(x, g) for x, g in zip(self._xs, got)]  # noqa: B905

    def _name(self, x, grad):
        if grad is None:
            return None
        grad = convert_to_tensor(grad, x.dtype, graph=self._graph)
        if not grad.shape.is_compatible_with(x.shape):
            raise InvalidArgumentError(
                f"{self._what}: a gradient has shape {grad.shape}, its argument "
                f"{x.shape}"
            )
        return grad.name


def custom_gradient(f):
    """Gives a function of tensors a gradient of its own.

        @rondo.custom_gradient
        def log1pexp(x):
            e = rondo.exp(x)
            return rondo.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    `f` gives its result, a tensor or a list of them, and a function from the
    gradient of each result to that of each argument (None: nothing flows back).
    Variables that it uses must be arguments.
    """

    @functools.wraps(f)
    def differentiated(*args, **kwargs):
        graph = graph_of(args)
        graph._check_open("custom_gradient")
        xs = [convert_to_tensor(x, graph=graph) for x in args]
        result, function = f(*xs, **kwargs)
        if not callable(function):
            raise InvalidArgumentError(
                "custom_gradient: the function must give (result, gradient function)"
            )
        several = isinstance(result, (list, tuple))
        ys = [
            convert_to_tensor(y, graph=graph) for y in (result if several else [result])
        ]
        _refuse_variables(graph, ys, xs)
        asked = Differentiated(graph, function, ys, xs)
        node = _core.add_custom_gradient(
            graph._core,
            asked,
            [y._value for y in ys],
            [x._value for x in xs],
            "CustomGradient",
            origin(),
        )
        graph._host_functions.append(asked)
        outputs = graph._added(node).outputs
        return type(result)(outputs) if several else outputs[0]

    return differentiated


def _refuse_variables(graph, ys, xs):
    """No gradient would reach a variable that is not among the arguments."""
    trained = {
        v._as_tensor()._value.node
        for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        if hasattr(v, "_as_tensor")
    }
    seen = {x._value.node for x in xs}
    left = [y._value.node for y in ys]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in trained:
            raise InvalidArgumentError(
                f'custom_gradient: the function uses the variable "{node.name}", to '
                "which no gradient would flow: make it an argument"
            )
        left.extend(value.node for value in node.inputs)
