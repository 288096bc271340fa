"""Queues: elements that runs put in and others take out."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..framework import build
from ..framework.dtypes import as_dtype
from ..framework.graph import Operation, get_default_graph
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor
from .random import _seeds


class QueueBase:
    """What all queues do; make a FIFOQueue or a RandomShuffleQueue.

    A queue lives in the session. An element has a tensor for each of `dtypes`.
    Who puts one into a full queue, or takes one from an empty queue, waits;
    other runs of the session go on meanwhile, from other threads or in the same
    run. With `names`, elements are dicts. All operations on it ask for the device
    whose scope the queue was made in.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        name: str = "queue",
        *,
        capacity: int = -1,
        shared_name: str | None = None,
        **attrs: Any,
    ) -> None:
        self._graph = get_default_graph()
        self._dtypes = [as_dtype(d) for d in _listed(dtypes)]
        self._shapes = _shapes_of(shapes, self._dtypes)
        self._names = None if names is None else list(_listed(names))
        if self._names is not None and len(self._names) != len(self._dtypes):
            raise InvalidArgumentError(
                f"{name}: there are {len(self._names)} names for "
                f"{len(self._dtypes)} components"
            )
        own = self._graph.unique_name(name)
        self._name = shared_name or own
        self._attrs = {
            "queue": self._name,
            "capacity": int(capacity),
            "component_types": self._dtypes,
            "shapes": [s.dims for s in self._shapes or ()],
            **attrs,
        }
        self._device = None
        # What makes no sense is refused here, not where it is first used.
        self._size = self._one("QueueSize", [], None)
        # It is where it was made, and so is all that uses it.
        self._device = self._size.op.device

    @staticmethod
    def from_list(index: Any, queues: Any) -> QueueBase:
        """queues[index], of queues whose elements are all of one kind. The index is
        a number or a constant: which queue it is, is part of the graph."""
        queues = _listed(queues)
        for queue in queues:
            if not isinstance(queue, QueueBase):
                raise InvalidArgumentError(f"from_list: {queue!r} is not a queue")
            first = queues[0]
            if queue._dtypes != first._dtypes or queue._names != first._names:
                raise InvalidArgumentError(
                    f'from_list: the elements of "{queue.name}" and "{first.name}" '
                    "have other types or names"
                )
        numbers = build.static_ints(index)
        if len(numbers) != 1 or not -len(queues) <= numbers[0] < len(queues):
            raise InvalidArgumentError(
                f"from_list: the index is {index!r}, and there are {len(queues)} queues"
            )
        return queues[numbers[0]]

    @property
    def name(self) -> str:
        return self._name

    @property
    def graph(self) -> Any:
        return self._graph

    @property
    def dtypes(self) -> list:
        """The type of each component."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list:
        """The shape of each component, as far as known."""
        return list(self._shapes or [TensorShape(None)] * len(self._dtypes))

    @property
    def names(self) -> list | None:
        return None if self._names is None else list(self._names)

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Puts an element in: a tensor, a list of one for each component, or a
        dict by their names."""
        return self._make("QueueEnqueue", self._components(vals), name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Puts the rows of these tensors in, as many elements as there are rows."""
        return self._make("QueueEnqueueMany", self._components(vals), name)

    def dequeue(self, name: str | None = None) -> Any:
        """The next element: a tensor, a list of tensors, or a dict."""
        return self._element(self._make("QueueDequeue", [], name))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """n elements, stacked along a new first axis. When the queue is closed with
        fewer left, OutOfRangeError, and they stay."""
        return self._element(self._make("QueueDequeueMany", [n], name))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As dequeue_many, but gives those that are left when the queue is closed."""
        return self._element(self._make("QueueDequeueUpTo", [n], name))

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None
    ) -> Operation:
        """Lets nothing new in: CancelledError. What waits to be put in still is,
        unless cancelled too; who takes more than is left gets OutOfRangeError."""
        cancel = {"cancel_pending_enqueues": bool(cancel_pending_enqueues)}
        return self._make("QueueClose", [], name, cancel)

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether it is closed."""
        return self._one("QueueIsClosed", [], name)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in it: int64."""
        return self._one("QueueSize", [], name)

    def _make(self, op, inputs, name, more=()):
        label = name or f"{self._name.rsplit('/', 1)[-1]}_{op[len('Queue') :]}"
        attrs = {**self._attrs, **dict(more)}
        return build.make_on(self._device, op, inputs, attrs, label, self._graph)

    def _one(self, op, inputs, name):
        return self._make(op, inputs, name).outputs[0]

    def _components(self, vals):
        if self._names is not None:
            if not isinstance(vals, dict) or sorted(vals) != sorted(self._names):
                raise InvalidArgumentError(
                    f'the queue "{self._name}" takes a dict with the keys '
                    f"{', '.join(self._names)}"
                )
            vals = [vals[n] for n in self._names]
        elif isinstance(vals, dict):
            raise InvalidArgumentError(
                f'the queue "{self._name}" was made without names, so an element '
                "is no dict"
            )
        elif len(self._dtypes) == 1 and not (
            isinstance(vals, (list, tuple)) and len(vals) == 1
        ):
            vals = [vals]
        vals = _listed(vals)
        if len(vals) != len(self._dtypes):
            raise InvalidArgumentError(
                f'the queue "{self._name}" has {len(self._dtypes)} components, not '
                f"{len(vals)}"
            )
        return [
            build.convert_to_tensor(v, d, graph=self._graph)
            for v, d in zip(vals, self._dtypes)  # noqa: B905
        ]

    def _element(self, op):
        outputs = op.outputs
        if self._names is not None:
            return dict(zip(self._names, outputs))  # noqa: B905
        return outputs[0] if len(outputs) == 1 else outputs

    def __repr__(self) -> str:
        return f'<rondo.{type(self).__name__} "{self._name}">'


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which it got them.

    At most `capacity` of them; negative: without bound. `shapes` must be known
    for dequeue_many.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(
            dtypes, shapes, names, name, capacity=capacity, shared_name=shared_name
        )


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in random order: the same for the same seed.

    Until it is closed, `min_after_dequeue` elements stay in it to choose from.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__(
            dtypes,
            shapes,
            names,
            name,
            capacity=capacity,
            shared_name=shared_name,
            shuffle=True,
            min_after_dequeue=int(min_after_dequeue),
            **_seeds(get_default_graph(), seed),
        )


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _shapes_of(shapes, dtypes):
    """One TensorShape for each component, or None for any."""
    if shapes is None:
        return None
    # A single shape, as for a queue of one component.
    if isinstance(shapes, TensorShape) or (
        len(dtypes) == 1 and all(d is None or isinstance(d, int) for d in shapes)
    ):
        shapes = [shapes]
    shapes = [TensorShape(s) for s in shapes]
    if len(shapes) != len(dtypes):
        raise InvalidArgumentError(
            f"a queue of {len(dtypes)} components was given {len(shapes)} shapes"
        )
    return shapes
