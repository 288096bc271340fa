"""Functions under the argument names of TensorFlow 1."""

import functools

from ..errors import InvalidArgumentError


def accepting(function, ignored=(), refused=(), order=None, **renamed):
    """The function, with old names of arguments.

    `renamed` says what an old name is called now; `ignored` ones change nothing;
    `refused` ones must be None or False; `order` is TensorFlow's order of the
    arguments where it differs.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        if order is not None and len(args) > 1:
            kwargs.update(zip(order[: len(args)], args))  # noqa: B905
            args = ()
        for old, new in renamed.items():
            if old in kwargs:
                value = kwargs.pop(old)
                if value is not None:
                    kwargs[new] = value
        for name in ignored:
            kwargs.pop(name, None)
        for name in refused:
            if kwargs.pop(name, None):
                raise InvalidArgumentError(
                    f"{function.__name__}: {name} is not supported"
                )
        return function(*args, **kwargs)

    return call
