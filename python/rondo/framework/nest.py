"""Structures of lists, tuples, named tuples and dicts, and what they are made of.

(Elements of data sets are structures of another kind, in which a list is a tensor:
rondo/data/structure.py.)
"""


def flatten(structure):
    """The leaves, from left to right; those of a dict by key."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    return [structure]


def flatten_up_to(structure, value):
    """The parts of `value` that stand where `structure` has its leaves; None where
    it is another structure. Lists and tuples are the same here."""
    if isinstance(structure, dict):
        if not isinstance(value, dict) or value.keys() != structure.keys():
            return None
        pairs = [(structure[key], value[key]) for key in sorted(structure)]
    elif isinstance(structure, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(structure):
            return None
        pairs = list(zip(structure, value))  # noqa: B905
    else:
        return [value]
    parts = [flatten_up_to(*pair) for pair in pairs]
    return None if None in parts else [leaf for part in parts for leaf in part]


def pack(structure, leaves):
    """These leaves as `structure` has its own."""
    leaves = iter(leaves)
    return map_structure(lambda _: next(leaves), structure)


def map_structure(function, structure):
    """The function of each leaf, in the order of flatten."""
    if isinstance(structure, dict):
        parts = {
            key: map_structure(function, structure[key]) for key in sorted(structure)
        }
        return {key: parts[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        parts = [map_structure(function, part) for part in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return type(structure)(parts)
    return function(structure)
