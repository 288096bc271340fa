"""Coordinator: decides which operations the ranks run, and in which order.

Rank 0 has one. Ranks tell it what they ask for, in whatever order; an operation
whose name all members of its process set have asked for is decided on, and all
members run what is decided in the same order. No thread, no socket: what it is
told comes in by calls, and so does the time.
"""

import dataclasses
import math
from typing import NamedTuple

from .request import Request, mismatch

SIZES = {
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool"), 1),
}


class Decision(NamedTuple):
    """What its ranks run next. JSON makes it a list."""

    kind: str
    set: int
    names: list  # several allreduces may be run as one
    error: str = ""
    # allgather: [tensor][member] rows; alltoall: [from][to] rows
    rows: list = []
    like: list | None = None  # a request, for ranks that joined
    active: int = 0  # members that have not joined
    value: int = 0  # the id of a process set, the rank that joined last


@dataclasses.dataclass
class _Pending:
    since: float
    requests: dict  # by rank
    warned: bool = False


@dataclasses.dataclass
class _Ready:
    ranks: list  # who is told
    decision: Decision
    fuse: tuple | None = None  # equal ones may be run as one
    size: int = 0  # bytes


def listed(ranks):
    ranks = sorted(ranks)
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


class Coordinator:
    def __init__(self, size, settings):
        self._settings = settings
        self._sets = {0: list(range(size))}
        self._next_set = 1
        self._pending = {}  # by (set, name)
        self._joined = []  # in the order of their joining
        self._gone = []
        self._ready = []

    def submit(self, rank, request, now):
        """Hears that `rank` asks for `request`."""
        if request.kind == "shutdown":
            self._leave(rank, now)
        elif request.kind == "join":
            self._joined.append(rank)
            self._after_join()
        elif request.set not in self._sets:
            error = f"process set {request.set} does not exist, or no longer"
            self._refuse([rank], request, error)
        else:
            key = (request.set, request.name)
            one = self._pending.setdefault(key, _Pending(now, {}))
            one.requests[rank] = request
            self._consider(key)

    def gone(self):
        """The ranks that have shut down."""
        return set(self._gone)

    def has_decided(self):
        """Whether take() would give something."""
        return bool(self._ready)

    def take(self):
        """What was decided since the last call: (ranks, Decision) pairs."""
        taken = []
        for one in self._ready:
            last = taken[-1] if taken else None
            if (
                last
                and one.fuse
                and last.fuse == one.fuse
                and last.size + one.size <= self._settings.fusion
            ):
                last.decision.names.extend(one.decision.names)
                last.size += one.size
            else:
                taken.append(one)
        self._ready = []
        return [(one.ranks, one.decision) for one in taken]

    def stalled(self, now):
        """Warnings for what waits for too long; what waits longer fails."""
        warnings = []
        for key, one in list(self._pending.items()):
            age = now - one.since
            if 0 < self._settings.stall_error <= age:
                del self._pending[key]
                error = f"{self._waiting(key, one, age)}; HOROVOD_STALL_SHUTDOWN"
                error += f"_TIME_SECONDS is {self._settings.stall_error:g}"
                self._refuse(list(one.requests), self._sample(one), error)
            elif 0 < self._settings.stall_warning <= age and not one.warned:
                one.warned = True
                warnings.append(self._waiting(key, one, age))
        return warnings

    # ---- Deciding -----------------------------------------------------------

    @staticmethod
    def _sample(one):
        return next(iter(one.requests.values()))

    def _missing(self, key, one):
        away = {*one.requests, *self._joined}
        return [rank for rank in self._sets[key[0]] if rank not in away]

    def _waiting(self, key, one, age):
        return (
            f"{self._sample(one).title} waits for {listed(self._missing(key, one))} "
            f"since {age:.0f} s; {listed(one.requests)} submitted it"
        )

    def _refuse(self, ranks, request, error):
        decision = Decision(request.kind, request.set, [request.name], error)
        self._ready.append(_Ready(list(ranks), decision))

    def _consider(self, key):
        one = self._pending[key]
        missing = self._missing(key, one)
        gone = [rank for rank in missing if rank in self._gone]
        if gone:
            del self._pending[key]
            request = self._sample(one)
            error = f"{request.title}: {listed(gone)} has shut down"
            self._refuse(list(one.requests), request, error)
        elif not missing:
            del self._pending[key]
            self._decide(one.requests)

    def _decide(self, requests):
        request = requests[min(requests)]
        members = self._sets[request.set]
        joined = [rank for rank in members if rank not in requests]
        error = mismatch(requests) or self._refusal(request, joined)
        if error:
            self._refuse(list(requests), request, error)
            return
        decision = Decision(
            request.kind,
            request.set,
            [request.name],
            rows=self._rows(request, requests, members),
            like=list(request) if joined else None,
            active=len(members) - len(joined),
            value=self._change_sets(request),
        )
        ready = _Ready(members, decision)
        if request.kind == "allreduce" and request.op != "Adasum" and not joined:
            if len(set(request.dtypes)) == 1:
                scales = (request.prescale, request.postscale)
                ready.fuse = (request.set, request.dtypes[0], request.op, scales)
            each = SIZES.get(request.dtypes[0], 4)
            ready.size = each * sum(math.prod(shape) for shape in request.shapes)
        self._ready.append(ready)

    def _refusal(self, request, joined):
        """Why an operation that all agree on cannot be run, or ""."""
        what = request.title
        if request.kind == "broadcast" and request.root in joined:
            return f"{what}: rank {request.root}, the root, has joined"
        if joined and (request.kind == "alltoall" or request.op == "Adasum"):
            return f"{what}: {listed(joined)} has joined, and it needs all ranks"
        if request.kind == "add_process_set":
            if request.ranks in self._sets.values():
                return f"{what}: there is a process set of these ranks already"
        return ""

    @staticmethod
    def _rows(request, requests, members):
        if request.kind in ("allgather", "sparse_allreduce"):
            return [
                [
                    requests[rank].shapes[i][0] if rank in requests else 0
                    for rank in members
                ]
                for i in range(len(request.shapes))
            ]
        if request.kind == "alltoall":
            return [requests[rank].splits for rank in members]
        return []

    def _change_sets(self, request):
        if request.kind == "add_process_set":
            self._sets[self._next_set] = request.ranks
            self._next_set += 1
            return self._next_set - 1
        if request.kind == "remove_process_set":
            for key in [key for key in self._pending if key[0] == request.root]:
                one = self._pending.pop(key)
                error = f"process set {request.root} was removed"
                self._refuse(list(one.requests), self._sample(one), error)
            return int(self._sets.pop(request.root, None) is not None)
        return 0

    # ---- Ranks that join or leave -------------------------------------------

    def _after_join(self):
        for key in list(self._pending):
            if key in self._pending:
                self._consider(key)
        everybody = self._sets[0]
        if self._gone:
            error = f"join: {listed(self._gone)} has shut down"
            self._refuse(self._joined, Request("join", "join"), error)
            self._joined = []
        elif len(self._joined) == len(everybody):
            decision = Decision("join", 0, ["join"], value=self._joined[-1])
            self._ready.append(_Ready(everybody, decision))
            self._joined = []

    def _leave(self, rank, now):
        del now
        self._gone.append(rank)
        for key in list(self._pending):
            one = self._pending[key]
            one.requests.pop(rank, None)
            if one.requests:
                self._consider(key)
            else:
                del self._pending[key]
        if self._joined:
            self._after_join()
        if len(self._gone) == len(self._sets[0]):
            decision = Decision("shutdown", 0, [])
            self._ready.append(_Ready(self._sets[0], decision))
