"""Branches and loops."""

from .. import _core
from ..errors import InvalidArgumentError
from ..framework import nest
from ..framework.build import convert_to_tensor, graph_of
from ..framework.graph import Operation
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None):
    """What true_fn() gives where `pred`, a bool scalar, holds, and else what
    false_fn() gives: tensors, or lists, tuples and dicts of them, of the same
    structure and types. Only the operations of the branch that is taken run.

    A list or tuple of one tensor is given as that tensor, unless `strict`.
    """
    for function in (true_fn, false_fn):
        if not callable(function):
            raise InvalidArgumentError(
                f"cond: {function!r} is not a function; give functions that make the "
                "operations of their branch"
            )
    pred = convert_to_tensor(pred, "bool")
    graph = pred.graph
    graph._check_open("cond")
    given = []

    def branch(function):
        def values():
            result = _unpacked(function(), strict)
            given.append(result)
            return [_branch_value(x, graph)._value for x in nest.flatten(result)]

        return values

    with graph.name_scope(name or "cond"):
        got = _core.cond(pred._value, branch(true_fn), branch(false_fn))
    if nest.flatten_up_to(given[0], given[1]) is None:
        raise InvalidArgumentError(
            f"cond: one branch gives {given[0]!r}, the other {given[1]!r}: expected "
            "the same structure"
        )
    return nest.pack(given[0], [Tensor(v, graph) for v in got])


def _unpacked(result, strict):
    alone = isinstance(result, (list, tuple)) and len(result) == 1
    return result[0] if alone and not strict else result


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
    return_same_structure=False,
):
    """The loop variables after as many runs of body(*loop_vars) as cond(*loop_vars)
    holds before. body gives their next values.

    A variable is a tensor, or a list, tuple or dict of tensors, such as the state
    of a cell. Where there is one variable, it is given itself and not as a list,
    unless return_same_structure.
    """
    alone = not isinstance(loop_vars, (list, tuple))
    loop_vars = [loop_vars] if alone else loop_vars
    leaves = nest.flatten(loop_vars)
    graph = graph_of(leaves)
    graph._check_open("while_loop")
    initial = [convert_to_tensor(x, graph=graph) for x in leaves]

    def arguments(values):
        return nest.pack(loop_vars, [Tensor(v, graph) for v in values])

    def holds(values):
        return convert_to_tensor(cond(*arguments(values)), "bool", graph=graph)._value

    def step(values):
        return [
            convert_to_tensor(x, was.dtype, graph=graph)._value
            for x, was in zip(  # noqa: B905
                _next_values(loop_vars, body(*arguments(values))), initial
            )
        ]

    got = _core.while_loop(
        holds,
        step,
        [t._value for t in initial],
        parallel_iterations,
        name or "while",
        _shapes(loop_vars, shape_invariants),
    )
    result = arguments(got)
    if alone or (len(loop_vars) == 1 and not return_same_structure):
        return result[0]
    return result


def _next_values(loop_vars, result):
    found = nest.flatten_up_to(loop_vars, result)
    if found is None and len(loop_vars) == 1:
        found = nest.flatten_up_to(loop_vars[0], result)
    if found is not None:
        return found
    count = len(result) if isinstance(result, (list, tuple)) else 1
    if count != len(loop_vars):
        raise InvalidArgumentError(
            f"while_loop: body gives {count} values for {len(loop_vars)} loop variables"
        )
    raise InvalidArgumentError(
        f"while_loop: body gives {result!r}, which is of another structure than the "
        f"loop variables, {loop_vars!r}"
    )


def _shapes(loop_vars, shape_invariants):
    if shape_invariants is None:
        return []
    if len(loop_vars) == 1 and isinstance(shape_invariants, TensorShape):
        shape_invariants = [shape_invariants]
    found = nest.flatten_up_to(loop_vars, shape_invariants)
    if found is None:
        raise InvalidArgumentError(
            f"while_loop: shape_invariants is {shape_invariants!r}, expected a shape "
            "for each loop variable"
        )
    return [TensorShape(shape).dims for shape in found]
