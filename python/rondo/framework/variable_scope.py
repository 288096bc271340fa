"""variable_scope and get_variable: variables by name, shared on request."""

import contextlib

from ..errors import InvalidArgumentError
from . import build
from .dtypes import as_dtype, float32
from .graph import GraphKeys, get_default_graph
from .shape import TensorShape
from .tensor import Operators
from .variable import Variable


class _AutoReuse:
    def __repr__(self):
        return "rondo.AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


class VariableScope:
    """Where get_variable looks for variables, and what new ones begin with."""

    def __init__(
        self, name="", reuse=False, initializer=None, dtype=float32, regularizer=None
    ):
        self.name = name
        self.reuse = reuse
        self.initializer = initializer
        self.dtype = dtype
        self.regularizer = regularizer

    def set_initializer(self, initializer):
        self.initializer = initializer

    def set_regularizer(self, regularizer):
        self.regularizer = regularizer

    def global_variables(self):
        """The variables of this scope."""
        return self._of(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self):
        """The variables of this scope that optimizers change."""
        return self._of(GraphKeys.TRAINABLE_VARIABLES)

    def _of(self, collection):
        scope = self.name + "/" if self.name else None
        return get_default_graph().get_collection(collection, scope)

    @property
    def original_name_scope(self):
        return self.name + "/" if self.name else ""

    def reuse_variables(self):
        self.reuse = True


def get_variable_scope():
    """The innermost variable scope."""
    graph = get_default_graph()
    if graph._variable_scope is None:
        graph._variable_scope = VariableScope()
    return graph._variable_scope


@contextlib.contextmanager
def variable_scope(
    name_or_scope,
    default_name=None,
    values=None,
    initializer=None,
    regularizer=None,
    caching_device=None,
    partitioner=None,
    custom_getter=None,
    reuse=None,
    dtype=None,
    use_resource=None,
    constraint=None,
    auxiliary_name_scope=True,
):
    """Names of variables got within begin with this one.

    With reuse=True get_variable gives those that exist, with AUTO_REUSE those
    that exist and makes others; else it is as outside. `default_name`, for a name
    of None, is made unique. `caching_device`, `partitioner` and `use_resource` are
    taken for the sake of TensorFlow's programs: a variable is one, and read where
    it is.
    """
    if custom_getter is not None or constraint is not None:
        raise InvalidArgumentError(
            "variable_scope: custom_getter and constraint are not supported"
        )
    graph = get_default_graph()
    outer = get_variable_scope()
    if isinstance(name_or_scope, VariableScope):
        name = name_or_scope.name
        inherited = name_or_scope
        label = name.rsplit("/", 1)[-1]
    else:
        label = name_or_scope
        inherited = outer
        if label is None:
            if default_name is None:
                raise InvalidArgumentError("variable_scope: it needs a name")
            label = _unique_scope(graph, outer, default_name)
        name = f"{outer.name}/{label}" if outer.name else label
    scope = VariableScope(
        name,
        reuse or inherited.reuse,  # who reuses, does so in all scopes within
        initializer or inherited.initializer,
        as_dtype(dtype) if dtype is not None else inherited.dtype,
        regularizer or inherited.regularizer,
    )
    graph._variable_scope = scope
    graph._scope_names.setdefault(name, 1)
    try:
        names = label and auxiliary_name_scope
        with graph.name_scope(label) if names else contextlib.nullcontext():
            yield scope
    finally:
        graph._variable_scope = outer
        _forget_scopes_within(graph, name)


def _forget_scopes_within(graph, name):
    """Default names begin anew when the scope is entered again, so that with reuse
    the same layers find the same variables."""
    for inner in [n for n in graph._scope_names if n.startswith(f"{name}/")]:
        del graph._scope_names[inner]


def _unique_scope(graph, outer, name):
    whole = f"{outer.name}/{name}" if outer.name else name
    number = graph._scope_names.get(whole, 0)
    if number == 0:
        return name
    while f"{whole}_{number}" in graph._scope_names:
        number += 1
    graph._scope_names[whole] = number + 1
    return f"{name}_{number}"


def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
):
    """The variable of this name in the variable scope: a new one, or with reuse
    the one that exists.

    `initializer` is a function of (shape, dtype), or the value; without one, the
    scope's, and else Glorot's uniform one for floating point and zeros.
    """
    if custom_getter is not None or constraint is not None:
        raise InvalidArgumentError(
            "get_variable: custom_getter and constraint are not supported"
        )
    graph = get_default_graph()
    scope = get_variable_scope()
    whole = f"{scope.name}/{name}" if scope.name else name
    found = graph._variables.get(whole)
    if found is not None:
        return _reused(found, whole, scope, shape, dtype)
    if scope.reuse is True:
        raise InvalidArgumentError(
            f'get_variable: there is no variable "{whole}" to reuse; make it first, '
            "or use reuse=rondo.AUTO_REUSE"
        )
    dtype = as_dtype(dtype) if dtype is not None else None
    head, _, last = whole.rpartition("/")
    outside = graph.name_scope(head + "/" if head else None)
    with outside, graph.control_dependencies(None):
        initial = _initial_value(scope, last, shape, dtype, initializer, whole)
        variable = Variable(initial, trainable, collections, name=last, dtype=dtype)
    graph._variables[whole] = variable
    regularizer = regularizer or scope.regularizer
    if regularizer is not None:
        with graph.name_scope(whole + "/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _reused(found, whole, scope, shape, dtype):
    if scope.reuse is False:
        raise InvalidArgumentError(
            f'get_variable: the variable "{whole}" exists, made at '
            f"{found.op.origin}; use reuse=True or rondo.AUTO_REUSE to share it"
        )
    if shape is not None and not found.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f'get_variable: the variable "{whole}" has shape {found.shape}, not '
            f"{TensorShape(shape)}"
        )
    if dtype is not None and found.dtype != as_dtype(dtype):
        raise InvalidArgumentError(
            f'get_variable: the variable "{whole}" has type {found.dtype.name}, not '
            f"{as_dtype(dtype).name}"
        )
    return found


def _initial_value(scope, last, shape, dtype, initializer, whole):
    from .. import initializers

    if initializer is None:
        initializer = scope.initializer
    if initializer is not None and (
        isinstance(initializer, Operators) or not callable(initializer)
    ):
        return build.convert_to_tensor(initializer, dtype)
    if shape is None:
        raise InvalidArgumentError(f'get_variable: "{whole}" needs a shape')
    shape = TensorShape(shape)
    if not shape.is_fully_defined():
        raise InvalidArgumentError(
            f'get_variable: the shape of "{whole}", {shape}, must be known'
        )
    dtype = dtype or scope.dtype
    if initializer is None:
        kind = initializers.glorot_uniform if dtype.is_floating else initializers.zeros
        initializer = kind()
    if isinstance(initializer, type):
        initializer = initializer()
    with get_default_graph().name_scope(last + "/Initializer"):
        return initializer(shape.as_list(), dtype=dtype)
