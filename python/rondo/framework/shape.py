"""TensorShape: what is known of a tensor's shape while the graph is built."""

from ..errors import InvalidArgumentError


class Dimension(int):
    """An extent: a number that has its own value as `value`, as in TensorFlow 1."""

    __slots__ = ()

    @property
    def value(self):
        return int(self)


class UnknownDimension:
    """What get_shape() has for an extent that is not known: its `value` is None."""

    __slots__ = ()
    value = None

    def __eq__(self, other):
        return other is None or isinstance(other, UnknownDimension)

    def __hash__(self):
        return hash(None)

    def __repr__(self):
        return "Dimension(None)"

    __str__ = __repr__


class TensorShape:
    """Extents, each an int, or None where it is not known.

    TensorShape(None) is of unknown rank.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        else:
            dims = [dims] if isinstance(dims, int) else dims
            self._dims = tuple(_checked(d) for d in dims)

    @property
    def ndims(self):
        """The number of extents; None when it is not known."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    @property
    def dims(self):
        return None if self._dims is None else list(self._dims)

    def as_list(self):
        """The extents as a list; ValueError when the rank is not known."""
        if self._dims is None:
            raise InvalidArgumentError("as_list: the shape's rank is not known")
        return list(self._dims)

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def num_elements(self):
        """The product of the extents; None when it is not known."""
        if not self.is_fully_defined():
            return None
        count = 1
        for d in self._dims:
            count *= d
        return count

    def is_compatible_with(self, other):
        """Whether one tensor can have both shapes."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b
            for a, b in zip(self._dims, other._dims)  # noqa: B905
        )

    def merge_with(self, other):
        """What is known when a tensor has both shapes."""
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise InvalidArgumentError(f"the shapes {self} and {other} differ")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape(
            [b if a is None else a for a, b in zip(self._dims, other._dims)]  # noqa: B905
        )

    def concatenate(self, other):
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def __len__(self):
        return len(self.as_list())

    def __iter__(self):
        return iter([self._extent(d) for d in self.as_list()])

    @staticmethod
    def _extent(d):
        return None if d is None else Dimension(d)

    def __getitem__(self, i):
        if self._dims is None:
            return type(self)(None) if isinstance(i, slice) else self._extent(None)
        if isinstance(i, slice):
            return type(self)(self._dims[i])
        return self._extent(self._dims[i])

    def __eq__(self, other):
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self):
        return hash(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __repr__(self):
        return f"TensorShape({self})"

    def __str__(self):
        if self._dims is None:
            return "?"
        return "[" + ", ".join("?" if d is None else str(d) for d in self._dims) + "]"

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise InvalidArgumentError(f"the shapes {self} and {other} differ")

    def assert_has_rank(self, rank):
        if self.ndims not in (None, rank):
            raise InvalidArgumentError(f"the shape {self} has not the rank {rank}")

    def with_rank(self, rank):
        self.assert_has_rank(rank)
        return self if self.ndims is not None else TensorShape([None] * rank)

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise InvalidArgumentError(f"the shape {self} is not known")


class ShapeOfDimensions(TensorShape):
    """What get_shape() gives: also extents that are not known have a `value`."""

    __slots__ = ()

    @staticmethod
    def _extent(d):
        return UnknownDimension() if d is None else Dimension(d)


def _checked(d):
    if d is None or isinstance(d, UnknownDimension) or int(d) == -1:
        return None
    return int(d)
