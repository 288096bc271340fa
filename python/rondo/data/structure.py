"""Structures: tuples, named tuples and dicts of an element's components.

As in TensorFlow, a list is not one: it becomes a tensor.
"""

from ..errors import InvalidArgumentError


def flatten(value):
    """The components, from left to right; those of a dict by key."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in flatten(value[key])]
    if isinstance(value, tuple):
        return [x for item in value for x in flatten(item)]
    return [value]


def flatten_up_to(structure, value, what):
    """The parts of `value` that stand where `structure` has its components."""
    if isinstance(structure, dict):
        if not isinstance(value, dict) or sorted(value) != sorted(structure):
            raise InvalidArgumentError(
                f"{what}: expected a dict with {sorted(structure)}, got {value!r}"
            )
        return [
            x
            for key in sorted(structure)
            for x in flatten_up_to(structure[key], value[key], what)
        ]
    if isinstance(structure, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(structure):
            raise InvalidArgumentError(
                f"{what}: expected a tuple of {len(structure)}, got {value!r}"
            )
        return [
            x
            for part, item in zip(structure, value)  # noqa: B905
            for x in flatten_up_to(part, item, what)
        ]
    return [value]


def pack(structure, components):
    """A structure like this one with other components."""
    return _pack(structure, iter(components))


def _pack(structure, components):
    if isinstance(structure, dict):
        parts = {key: _pack(structure[key], components) for key in sorted(structure)}
        return type(structure)((key, parts[key]) for key in structure)
    if isinstance(structure, tuple):
        parts = [_pack(item, components) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return tuple(parts)
    return next(components)


def call(function, element):
    """As TensorFlow calls functions of elements: a tuple is the arguments."""
    return function(*element) if isinstance(element, tuple) else function(element)
