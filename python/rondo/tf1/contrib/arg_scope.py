"""arg_scope: default arguments of layers within a block."""

import contextlib
import functools
import threading

from ...errors import InvalidArgumentError


class _Stack(threading.local):
    def __init__(self):
        self.scopes = [{}]


_stack = _Stack()


def add_arg_scope(function):
    """Lets arg_scope give the function default arguments."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = _stack.scopes[-1].get(call, {})
        return function(*args, **{**given, **kwargs})

    call._takes_arg_scope = True
    return call


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """with arg_scope([conv2d, fully_connected], stride=2) as scope: their defaults.
    `scope` may be given to arg_scope again."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise InvalidArgumentError("arg_scope: a scope takes no more arguments")
        scope = dict(list_ops_or_scope)
    else:
        scope = {f: dict(v) for f, v in _stack.scopes[-1].items()}
        for function in list_ops_or_scope:
            if not getattr(function, "_takes_arg_scope", False):
                raise InvalidArgumentError(
                    f"arg_scope: {getattr(function, '__name__', function)} takes no "
                    "defaults; decorate it with add_arg_scope"
                )
            scope.setdefault(function, {}).update(kwargs)
    _stack.scopes.append(scope)
    try:
        yield scope
    finally:
        _stack.scopes.pop()
