"""CriticalSection: a lock that parts of runs take, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InvalidArgumentError
from ..framework import build, nest
from ..framework.graph import Operation, get_default_graph
from ..framework.tensor import Tensor
from ..framework.variable import group
from .array import identity


class CriticalSection:
    """Sections of one name, in any run of a session, exclude each other; who comes
    first goes first. A run that ends, well or not, lets go what it still holds. The
    lock is on the device whose scope the section was made in; what it guards may
    be anywhere."""

    def __init__(self, name: str | None = None, shared_name: str | None = None) -> None:
        self._graph = get_default_graph()
        own = self._graph.unique_name(name or "critical_section")
        self._name = shared_name or own
        self._within = False
        self._device = self._graph._device_here()

    @property
    def name(self) -> str:
        return self._name

    def execute(self, fn: Callable[[], Any], name: str | None = None) -> Any:
        """What fn() gives: tensors or operations, alone or in lists, tuples and
        dicts. The operations that fn makes wait for the lock, which is let go once
        all that it gives is there. To read a variable under the lock, use its
        read_value() within fn."""
        if self._within:
            raise InvalidArgumentError(
                f'the critical section "{self._name}" is entered within itself, '
                "which would wait for ever"
            )
        with self._graph.name_scope(name or self._name.rsplit("/", 1)[-1]):
            lock = self.acquire()
            self._within = True
            try:
                with self._graph.control_dependencies([lock]):
                    given = fn()
                    ends = []
                    held = nest.map_structure(lambda x: self._hold(x, ends), given)
            finally:
                self._within = False
            if not ends:
                raise InvalidArgumentError(
                    f'what the critical section "{self._name}" runs gives nothing '
                    "that could be run"
                )
            with self._graph.control_dependencies(ends):
                released = self.release(lock)
            # Who uses a result makes the lock be let go.
            with self._graph.control_dependencies([released]):
                return nest.map_structure(_again, held)

    def acquire(self, name: str | None = None) -> Tensor:
        """The lock, once this run has it: for release()."""
        return self._make("MutexAcquire", [], name or "Acquire").outputs[0]

    def release(self, lock: Tensor, name: str | None = None) -> Operation:
        """Lets the lock go."""
        return self._make("MutexRelease", [lock], name or "Release")

    def _make(self, op, inputs, name):
        attrs = {"mutex": self._name}
        made = build.make_on(self._device, op, inputs, attrs, name, self._graph)
        # Where a function of operations chooses, the first one settles it.
        self._device = made.device
        return made

    def _hold(self, x, ends):
        if isinstance(x, Operation):
            ends.append(x)
            return x
        tensor = identity(build.convert_to_tensor(x, graph=self._graph))
        ends.append(tensor)
        return tensor

    def __repr__(self) -> str:
        return f'<rondo.CriticalSection "{self._name}">'


def _again(x):
    return group(x) if isinstance(x, Operation) else identity(x)
