"""Assignments, as functions."""

from ..errors import InvalidArgumentError
from ..framework.variable import Variable


def _variable(ref):
    if not isinstance(ref, Variable):
        raise InvalidArgumentError(f"{ref!r} is not a rondo.Variable")
    return ref


def assign(ref, value, name=None):
    """Sets a variable; gives the new value."""
    return _variable(ref).assign(value, name)


def assign_add(ref, value, name=None):
    """Adds to a variable; gives the new value."""
    return _variable(ref).assign_add(value, name)


def assign_sub(ref, value, name=None):
    """Subtracts from a variable; gives the new value."""
    return _variable(ref).assign_sub(value, name)


def scatter_update(ref, indices, updates, name=None):
    """Sets rows of a variable; gives the new value."""
    return _variable(ref).scatter_update(indices, updates, name)


def scatter_add(ref, indices, updates, name=None):
    """Adds to rows of a variable; gives the new value."""
    return _variable(ref).scatter_add(indices, updates, name)


def is_variable_initialized(variable, name=None):
    """Whether a variable has a value."""
    return _variable(variable).is_initialized(name)
