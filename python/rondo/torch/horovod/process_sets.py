"""Process sets: operations of some of the ranks."""

from . import basics
from .request import Request


class ProcessSet:
    """Some ranks of the job. It can be used once init(process_sets=[...]) or
    add_process_set() has made it, on all ranks alike."""

    def __init__(self, ranks_or_comm):
        self.ranks = sorted({int(rank) for rank in ranks_or_comm})
        self.process_set_id = None

    def _made(self):
        if self.process_set_id is None:
            raise ValueError(
                f"{self} has not been made, or was removed; give it to "
                "hvd.add_process_set() or hvd.init(process_sets=[...]) on all ranks"
            )
        basics.engine()

    def size(self):
        self._made()
        return len(self.ranks)

    def rank(self):
        """This process's number in the set; -1 where it is none of it."""
        self._made()
        own = basics.rank()
        return self.ranks.index(own) if own in self.ranks else -1

    def included(self):
        self._made()
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
    if process_sets is None or process_sets == "dynamic":
        return
    if isinstance(process_sets, str):
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
