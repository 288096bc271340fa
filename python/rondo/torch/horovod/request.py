"""What a rank asks for, and whether what the ranks ask for fits together."""

from typing import NamedTuple


def family(kind):
    """What names of operations begin with. A dense and a sparse tensor of one name
    meet, so that ranks of which some have a sparse one hear of it."""
    return kind.removeprefix("sparse_")


class Request(NamedTuple):
    """One operation of one rank, as rank 0 hears of it. JSON makes it a list."""

    kind: str  # "allreduce", "allgather", ...
    name: str
    set: int = 0  # the process set's id
    dtypes: list = []  # of each tensor
    shapes: list = []
    op: str = ""
    root: int = 0  # a rank of the job
    prescale: float = 1.0
    postscale: float = 1.0
    splits: list | None = None  # rows for each member
    ranks: list = []  # of the process set to be made
    size: list = []  # of a sparse tensor

    @property
    def title(self):
        """As texts call it; `name` begins with the family."""
        return f'{self.kind} of "{self.name.removeprefix(family(self.kind) + ".")}"'


# Ranks may have tensors that differ in the number of their rows.
UNEVEN = ("allgather", "alltoall", "sparse_allreduce")


def _first_difference(a, b):
    """What two ranks say differently: (what, one, other), or None."""
    if a.kind != b.kind:
        return "operation", a.kind, b.kind
    if len(a.shapes) != len(b.shapes):
        return "number of tensors", len(a.shapes), len(b.shapes)
    if a.dtypes != b.dtypes:
        return "dtype", *_unequal(a.dtypes, b.dtypes)
    fixed = 1 if a.kind in UNEVEN else 0
    for one, other in zip(a.shapes, b.shapes, strict=True):
        if len(one) != len(other) or one[fixed:] != other[fixed:]:
            return "shape", one, other
    for what in ("op", "root", "prescale", "postscale", "ranks", "size"):
        if getattr(a, what) != getattr(b, what):
            return what, getattr(a, what), getattr(b, what)
    return None


def _unequal(ones, others):
    """The first pair that differs, without the lists around it."""
    return next(pair for pair in zip(ones, others, strict=True) if pair[0] != pair[1])


def mismatch(requests):
    """The error for requests {rank: Request} that do not fit, or ""."""
    first, *others = sorted(requests)
    for other in others:
        found = _first_difference(requests[first], requests[other])
        if found:
            what, one, two = found
            return (
                f"{requests[first].title}: the ranks differ in {what}: rank {first} "
                f"has {one}, rank {other} has {two}"
            )
    return ""
