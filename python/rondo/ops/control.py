"""Branches and loops."""

from .. import _core
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, graph_of
from ..framework.graph import Operation
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor


def cond(pred, true_fn, false_fn, name=None):
    """What true_fn() gives where `pred`, a bool scalar, holds, and else what
    false_fn() gives: tensors, or lists of as many of the same types. Only the
    operations of the branch that is taken run."""
    pred = convert_to_tensor(pred, "bool")
    graph = pred.graph
    shapes = []

    def branch(function):
        def values():
            result = function()
            shapes.append(result)
            return [_branch_value(x, graph)._value for x in _listed(result)]

        return values

    with graph.name_scope(name or "cond"):
        got = _core.cond(pred._value, branch(true_fn), branch(false_fn))
    return _like(shapes[0], [Tensor(v, graph) for v in got])


def _branch_value(x, graph):
    if isinstance(x, Operation):
        # Something to give that is there once the operation has run.
        with graph.control_dependencies([x]):
            return convert_to_tensor(True, graph=graph)
    if x is None:
        raise InvalidArgumentError("cond: a branch gives None")
    return convert_to_tensor(x, graph=graph)


def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    name=None,
):
    """The loop variables after as many runs of body(*loop_vars) as cond(*loop_vars)
    holds before. body gives their next values."""
    variables = _listed(loop_vars)
    graph = graph_of(variables)
    initial = [convert_to_tensor(x, graph=graph) for x in variables]

    def tensors(values):
        return [Tensor(v, graph) for v in values]

    def holds(values):
        return convert_to_tensor(cond(*tensors(values)), "bool", graph=graph)._value

    def step(values):
        result = _listed(body(*tensors(values)))
        if len(result) != len(values):
            raise InvalidArgumentError(
                f"while_loop: body gives {len(result)} values for {len(values)} "
                "loop variables"
            )
        return [
            convert_to_tensor(x, was.dtype, graph=graph)._value
            for x, was in zip(result, initial)  # noqa: B905
        ]

    shapes = [TensorShape(s).dims for s in shape_invariants or ()]
    got = _core.while_loop(
        holds,
        step,
        [t._value for t in initial],
        parallel_iterations,
        name or "while",
        shapes,
    )
    return _like(loop_vars, tensors(got))


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _like(structure, tensors):
    if isinstance(structure, (list, tuple)):
        return type(structure)(tensors)
    return tensors[0]
