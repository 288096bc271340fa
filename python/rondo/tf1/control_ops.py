"""Branches, loops and state, as TensorFlow 1 calls them."""

import contextlib

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ..framework.graph import GraphKeys, get_default_graph
from ..ops import control as _control
from ._old_names import accepting


def cond(
    pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None
):
    """What true_fn() gives where `pred` holds, and else what false_fn() gives."""
    return rd.cond(pred, true_fn or fn1, false_fn or fn2, strict, name)


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the function of the first condition that holds gives. That none holds is
    an error without a default, that several do with `exclusive`."""
    pairs = list(
        pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    )
    if not pairs:
        raise InvalidArgumentError("case: there are no conditions")
    with rd.name_scope(name):
        preds = [_convert(pred) for pred, _ in pairs]
        with rd.control_dependencies(_case_checks(preds, default, exclusive)):
            preds = [rd.identity(pred) for pred in preds]
        functions = [function for _, function in pairs]
        if default is None:
            preds, default = preds[:-1], functions.pop()
        result = default
        for pred, function in zip(reversed(preds), reversed(functions)):  # noqa: B905
            result = _otherwise(pred, function, result, strict)
        return result()


def _case_checks(preds, default, exclusive):
    count = rd.add_n([rd.to_int32(pred) for pred in preds])
    checks = []
    if default is None:
        said = ["case: no condition holds, and there is no default"]
        checks.append(rd.Assert(rd.greater(count, 0), said))
    if exclusive:
        said = ["case: more than one condition holds"]
        checks.append(rd.Assert(rd.less(count, 2), said))
    return checks


def _otherwise(pred, function, other, strict):
    return lambda: rd.cond(pred, function, other, strict)


def while_loop(
    cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
    back_prop=True, swap_memory=False, name=None, maximum_iterations=None,
    return_same_structure=False,
):  # fmt: skip
    """The loop variables after as many runs of body as cond holds before; of a
    single one, itself."""
    if maximum_iterations is not None:
        raise InvalidArgumentError(
            "while_loop: maximum_iterations is not supported; count in the loop"
        )
    return _control.while_loop(
        cond, body, loop_vars, shape_invariants, parallel_iterations, name,
        return_same_structure,
    )  # fmt: skip


def tuple(tensors, name=None, control_inputs=None):
    """The tensors, each once all of them are there."""
    known = [t for t in tensors if t is not None]
    with rd.control_dependencies([*known, *(control_inputs or ())]):
        return [None if t is None else rd.identity(t) for t in tensors]


def _rows(elems):
    tensors = [_convert(x) for x in (elems if isinstance(elems, (list,)) else [elems])]
    count = tensors[0].shape[0]
    if count is None:
        raise InvalidArgumentError(
            f'the first extent of "{tensors[0].name}", {tensors[0].shape}, must be '
            "known: the function is put into the graph once for each row; use "
            "tf.while_loop"
        )
    rows = [rd.unstack(t, int(count)) for t in tensors]
    if not isinstance(elems, list):
        return rows[0]
    return [list(row) for row in zip(*rows)]  # noqa: B905


def _stacked(results):
    if isinstance(results[0], (list, type(()))):
        return type(results[0])(rd.stack(list(r)) for r in zip(*results))  # noqa: B905
    return rd.stack(results)


def map_fn(fn, elems, dtype=None, parallel_iterations=10, back_prop=True,
           swap_memory=False, infer_shape=True, name=None):  # fmt: skip
    """fn(row) for each row, as rows."""
    if isinstance(elems, type(())):
        elems = list(elems)
    return _stacked([fn(row) for row in _rows(elems)])


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True,
          swap_memory=False, name=None):  # fmt: skip
    """fn(fn(first, second), third) and so on."""
    rows = list(_rows(elems))
    total = rows.pop(0) if initializer is None else initializer
    for row in rows:
        total = fn(total, row)
    return total


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True,
         swap_memory=False, infer_shape=True, reverse=False, name=None):  # fmt: skip
    """As foldl; all results on the way, as rows."""
    rows = list(_rows(elems))
    if reverse:
        rows.reverse()
    results = []
    total = initializer
    if total is None:
        total = rows.pop(0)
        results.append(total)
    for row in rows:
        total = fn(total, row)
        results.append(total)
    if reverse:
        results.reverse()
    return _stacked(results)


_STATE = {"ignored": ("use_locking", "validate_shape")}
_UPDATE = ("ref", "indices", "updates", "use_locking", "name")


def _assignment(function):
    return accepting(
        function, ignored=("use_locking", "validate_shape"),
        order=("ref", "value", "validate_shape", "use_locking", "name"),
    )  # fmt: skip


assign = _assignment(rd.assign)
assign_add = accepting(
    rd.assign_add, order=("ref", "value", "use_locking", "name"), **_STATE
)
assign_sub = accepting(
    rd.assign_sub, order=("ref", "value", "use_locking", "name"), **_STATE
)
scatter_update = accepting(rd.scatter_update, order=_UPDATE, **_STATE)
scatter_add = accepting(rd.scatter_add, order=_UPDATE, **_STATE)


def scatter_sub(ref, indices, updates, use_locking=False, name=None):
    """Subtracts from rows of a variable; gives the new value."""
    return ref.scatter_add(indices, rd.negative(_convert(updates)), name)


def count_up_to(ref, limit, name=None):
    """Adds 1 to a variable; gives what it was before."""
    return ref.count_up_to(limit)


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


colocate_with, container = rd.colocate_with, rd.container


def get_local_variable(name, shape=None, *args, **kwargs):
    """As get_variable, of the local variables."""
    kwargs.update(trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
    return rd.get_variable(name, shape, *args, **kwargs)


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, **kwargs):
    """An old name of variable_scope."""
    with rd.variable_scope(name_or_scope, default_name, values, **kwargs) as scope:
        yield scope


@contextlib.contextmanager
def op_scope(values, name, default_name=None):
    """An old name of name_scope."""
    with rd.name_scope(name, default_name, values) as scope:
        yield scope


def make_template(name_, func_, create_scope_now_=False, **kwargs):
    """The function with arguments of its own, whose variables are made by its first
    call and shared by all others."""
    made = []

    def call(*args, **more):
        if made:
            with rd.variable_scope(made[0], reuse=True):
                return func_(*args, **{**kwargs, **more})
        with rd.variable_scope(None, name_) as scope:
            made.append(scope)
            return func_(*args, **{**kwargs, **more})

    return call


__all__ = [
    "add_to_collections",
    "assign",
    "assign_add",
    "assign_sub",
    "case",
    "colocate_with",
    "cond",
    "container",
    "count_up_to",
    "foldl",
    "get_collection_ref",
    "get_local_variable",
    "make_template",
    "map_fn",
    "op_scope",
    "scan",
    "scatter_add",
    "scatter_sub",
    "scatter_update",
    "tuple",
    "variable_op_scope",
    "while_loop",
]
