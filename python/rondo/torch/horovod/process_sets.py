"""Process sets: operations of some of the ranks."""

import operator

from . import basics
from .request import Request


def _ranks(ranks):
    try:
        return sorted({operator.index(rank) for rank in ranks})
    except TypeError as error:
        raise ValueError(
            f"ProcessSet({ranks!r}): it takes a list of ranks, which are whole numbers"
        ) from error


class ProcessSet:
    """Some ranks of the job. It can be used once init(process_sets=[...]) or
    add_process_set() has made it, on all ranks alike."""

    mpi_comm = None  # Horovod's sets may have one

    def __init__(self, ranks_or_comm):
        self.ranks = _ranks(ranks_or_comm)
        self.process_set_id = None

    def check_made(self):
        """An error, of operations, for a set that has not been made."""
        if self.process_set_id is None:
            raise ValueError(
                f"{self} has not been made, or was removed; give it to "
                "hvd.add_process_set() or hvd.init(process_sets=[...]) on all ranks"
            )

    def size(self):
        """How many ranks it has; None if it has not been made."""
        if self.process_set_id is None:
            return None
        basics.asked()
        return len(self.ranks)

    def rank(self):
        """This process's number in the set, of which it is one; None if the set has
        not been made."""
        if self.process_set_id is None:
            return None
        own = basics.rank()
        if own not in self.ranks:
            raise ValueError(
                f"Process is not part of provided process set: rank {own}, {self}"
            )
        return self.ranks.index(own)

    def included(self):
        """Whether this process is one of it."""
        return basics.rank() in self.ranks

    def __repr__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0
_sets = {}  # by id, without the global one


def reset(size):
    """After init: there is only the set of all ranks."""
    for one in _sets.values():
        one.process_set_id = None
    _sets.clear()
    global_process_set.ranks = list(range(size))


def made_at_init(process_sets):
    if process_sets is None:
        return
    if isinstance(process_sets, str):
        if process_sets.lower() == "dynamic":
            return
        raise ValueError(
            f'hvd.init(process_sets="{process_sets}"): it takes a list of ProcessSets'
        )
    for one in process_sets:
        add_process_set(one)


def add_process_set(process_set):
    """Makes a process set of a ProcessSet or a list of ranks. All ranks call it."""
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    engine = basics.engine()
    ranks = process_set.ranks
    if process_set.process_set_id is not None:
        raise ValueError(f"{process_set} has been made already")
    if not ranks or ranks[0] < 0 or ranks[-1] >= engine.size:
        raise ValueError(f"{process_set}: its ranks are of 0..{engine.size - 1}")
    for one in [global_process_set, *_sets.values()]:
        if one.ranks == ranks:
            raise ValueError(f"there is a process set of these ranks already: {one}")
    name = f"add_process_set.{ranks}"
    entry = engine.submit(Request("add_process_set", name, ranks=ranks))
    process_set.process_set_id = engine.wait(entry)
    _sets[process_set.process_set_id] = process_set
    return process_set


def remove_process_set(process_set):
    """Ends a process set; False where there is no such set. All ranks call it."""
    made = process_set.process_set_id
    if not made:  # not made, or the one of all ranks
        return False
    name = f"remove_process_set.{made}"
    engine = basics.engine()
    entry = engine.submit(Request("remove_process_set", name, root=made))
    removed = bool(engine.wait(entry))
    _sets.pop(made, None)
    process_set.process_set_id = None
    return removed
