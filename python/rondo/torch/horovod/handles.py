"""Handles: numbers for operations that are under way."""

import itertools

from . import basics

_entries = {}  # by number
_numbers = itertools.count(1)


def add(entry):
    """The handle of an operation."""
    handle = next(_numbers)
    _entries[handle] = entry
    return handle


def forget():
    """After shutdown."""
    _entries.clear()


def poll(handle):
    """Whether the operation is over, so that synchronize will not wait."""
    if handle not in _entries:
        raise ValueError(
            f"handle {handle} was not given by an operation, or has been synchronized"
        )
    return _entries[handle].done.is_set()


def synchronize(handle):
    """Waits for the operation and gives its result. None for a handle whose
    result was given before."""
    entry = _entries.get(handle)
    if entry is None:
        return None
    try:
        return basics.engine().wait(entry)
    finally:
        if entry.done.is_set():
            _entries.pop(handle, None)


class SparseHandle(int):
    """Horovod's scripts call the handles of sparse tensors."""

    def __call__(self):
        return synchronize(self)
