"""Gradients of the program's own for all operations of a type."""

import contextlib

from .. import _core
from ..errors import InvalidArgumentError

# By name: functions (op, *gradients of its outputs) -> gradients of its inputs.
_registered = {"Identity": lambda op, *grads: list(grads)}
# What a program of TensorFlow's calls an operation that has another name here.
_ALIASES = {"PyFunc": "HostCall", "PyFuncStateless": "HostCall"}


class RegisterGradient:
    """Registers a function as a gradient under a name.

        @rondo.RegisterGradient("Straight")
        def straight(op, grad):
            return grad

        with graph.gradient_override_map({"Sign": "Straight"}):
            y = rondo.sign(x)

    `op` has the inputs and outputs, `grad` is the gradient of an output, and there
    is one argument for each of them. The function gives a tensor for each input,
    or None where nothing flows back. Under the name of an operation that has no
    gradient, such as one of a library of the user's own, it is the gradient of all
    such operations that are made after.
    """

    def __init__(self, op_type):
        if not isinstance(op_type, str) or not op_type:
            raise InvalidArgumentError(f"RegisterGradient: {op_type!r} is not a name")
        self._name = op_type

    def __call__(self, f):
        if not callable(f):
            raise InvalidArgumentError(f"RegisterGradient: {f!r} is not a function")
        if self._name in _registered:
            raise InvalidArgumentError(
                f'RegisterGradient: there is a gradient "{self._name}" already'
            )
        operation = _core.operation(_ALIASES.get(self._name, self._name))
        if operation is not None and operation["differentiable"]:
            raise InvalidArgumentError(
                f"RegisterGradient: {self._name} has a gradient; register another "
                "under a name of your own and use Graph.gradient_override_map"
            )
        _registered[self._name] = f
        return f


@contextlib.contextmanager
def overridden(graph, op_type_map):
    """What Graph.gradient_override_map does."""
    if not isinstance(op_type_map, dict):
        raise InvalidArgumentError(
            "gradient_override_map: expected a dict of operations to gradients"
        )
    given = {}
    for op_type, name in op_type_map.items():
        operation = _ALIASES.get(op_type, op_type)
        if _core.operation(operation) is None:
            raise InvalidArgumentError(
                f'gradient_override_map: there is no operation "{op_type}"'
            )
        if name not in _registered:
            raise InvalidArgumentError(
                f'gradient_override_map: there is no gradient "{name}"; register it '
                f'with rondo.RegisterGradient("{name}")'
            )
        given[operation] = _registered[name]
    before = graph._gradient_overrides
    graph._gradient_overrides = {**before, **given}
    try:
        yield
    finally:
        graph._gradient_overrides = before


def gradient_for(graph, op_type):
    """The function that is the gradient of a new operation instead of its own; None
    when there is none."""
    found = graph._gradient_overrides.get(op_type)
    if found is not None or len(_registered) == 1:
        return found
    for name, function in _registered.items():
        if _ALIASES.get(name, name) == op_type:
            known = _core.operation(op_type)
            return None if known["differentiable"] else function
    return None


def with_gradient(made, function, origin):
    """An operation with the outputs of `made`, of which this is the gradient."""
    from ..ops.host_call import Differentiated
    from .tensor import Tensor

    graph, node = made.graph, made._node
    if not node.outputs or not node.inputs:
        return made
    asked = Differentiated(
        graph,
        lambda *grads: function(made, *grads),
        [Tensor(v, graph) for v in node.outputs],
        [Tensor(v, graph) for v in node.inputs],
        f"the gradient of {node.describe()}",
    )
    relative = node.name[len(graph._core.name_scope) :]
    outer = _core.add_custom_gradient(
        graph._core,
        asked,
        list(node.outputs),
        list(node.inputs),
        f"{relative}/with_gradient",
        origin,
    )
    graph._host_functions.append(asked)
    return graph._added(outer)
