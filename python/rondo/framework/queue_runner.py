"""QueueRunner: threads that fill a queue."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

from ..errors import (
    CancelledError,
    InvalidArgumentError,
    OutOfRangeError,
    PeerLostError,
    UnavailableError,
)
from .coordinator import Coordinator
from .graph import GraphKeys, get_default_graph
from .session import get_default_session


class QueueRunner:
    """Runs each of `enqueue_ops` again and again in a thread of its own.

    A thread ends when what it enqueues comes to an end (one of
    `queue_closed_exception_types`); the last one to end closes the queue. With a
    coordinator all end when it says so, and an error in one stops the others.
    """

    # Whether what enqueues ends when its queue is closed, so that a coordinator can
    # wait for its threads. Others are daemons, which end with their session.
    _ends_with_queue = True

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Iterable[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[BaseException], ...] = (
            OutOfRangeError,
        ),
    ) -> None:
        self._enqueue_ops = list(enqueue_ops or ())
        if queue is None or not self._enqueue_ops:
            raise InvalidArgumentError(
                "QueueRunner: it needs a queue and operations that fill it"
            )
        self._queue = queue
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True)
            if cancel_op is None
            else cancel_op
        )
        self._closed_types = tuple(queue_closed_exception_types)
        self._lock = threading.Lock()
        # Threads that run, and those that wait for a stop: by session.
        self._runs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._raised: list[BaseException] = []

    @property
    def queue(self) -> Any:
        return self._queue

    @property
    def enqueue_ops(self) -> list:
        return list(self._enqueue_ops)

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple:
        return self._closed_types

    @property
    def name(self) -> str:
        """The queue's."""
        return self._queue.name

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """What threads without a coordinator raised."""
        with self._lock:
            return list(self._raised)

    def create_threads(
        self,
        sess: Any,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """A thread for each enqueue operation, and with a coordinator one that
        cancels what waits when it stops. None while those of an earlier call for
        the session still run."""
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._raised = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunner-{self.name}-{i}",
                daemon=daemon or not self._ends_with_queue,
            )
            for i, op in enumerate(self._enqueue_ops)
        ]
        waited = threads if self._ends_with_queue else []
        if coord is not None:
            closer = threading.Thread(
                target=self._close_on_stop,
                args=(sess, coord),
                name=f"QueueRunner-{self.name}-close_on_stop",
                daemon=daemon,
            )
            threads, waited = [*threads, closer], [*waited, closer]
            for thread in waited:
                coord.register_thread(thread)
        for thread in threads if start else ():
            thread.start()
        return threads

    def _run(self, sess, op, coord):
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except self._closed_types:
            self._leave(sess, close=True)
            return
        except Exception as e:
            self._leave(sess)
            if coord is not None:
                if self._ends_with_queue or not coord.should_stop():
                    coord.request_stop(e)
                return
            with self._lock:
                self._raised.append(e)
            if isinstance(e, CancelledError):  # the queue or the session was closed
                return
            raise
        self._leave(sess)

    def _leave(self, sess, close=False):
        """One thread less; the last closes the queue."""
        with self._lock:
            self._runs[sess] -= 1
            last = self._runs[sess] == 0
        if close and last:
            self._try(sess, self._close_op)

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        self._try(sess, self._cancel_op)

    @staticmethod
    def _try(sess, op):
        """Runs `op` unless the session is closed, which ends all waits as well, or
        the queue is gone with its task."""
        try:
            sess.run(op)
        except (
            CancelledError,
            InvalidArgumentError,
            PeerLostError,
            UnavailableError,
        ):
            pass


def add_queue_runner(
    qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS
) -> None:
    """Adds a runner to the default graph's, for start_queue_runners."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """The threads of all runners of the session's graph, started."""
    sess = sess or get_default_session()
    if sess is None:
        raise InvalidArgumentError(
            "start_queue_runners: there is no default session: pass one, or use "
            "`with rondo.Session():`"
        )
    threads = []
    for runner in sess.graph.get_collection(collection):
        threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads
