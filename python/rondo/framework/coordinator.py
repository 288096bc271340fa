"""Coordinator: threads that stop together."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator

from ..errors import OutOfRangeError


class Coordinator:
    """Stops a group of threads together, and hands on what one of them raised.

        coord = rondo.train.Coordinator()
        threads = [threading.Thread(target=work, args=(coord,)) for _ in range(4)]
        ...
        coord.join(threads)

    Each thread ends when coord.should_stop() says so, and any of them, or the
    main one, calls coord.request_stop(). Exceptions of the kinds
    `clean_stop_exception_types` are an ordinary end: the end of the data.
    """

    def __init__(
        self,
        clean_stop_exception_types: tuple[type[BaseException], ...] = (
            OutOfRangeError,
        ),
    ) -> None:
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._exception: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()

    def should_stop(self) -> bool:
        """Whether somebody requested a stop."""
        return self._stop.is_set()

    def request_stop(self, ex: BaseException | None = None) -> None:
        """Asks the threads to stop. The first exception is what join() raises; one
        that comes after the stop was requested is not."""
        if isinstance(ex, tuple):  # sys.exc_info()
            ex = ex[1]
        with self._lock:
            if self._joined:
                if ex is not None and not isinstance(ex, self._clean):
                    raise ex
                return
            if self._stop.is_set():
                return
            if ex is not None and not isinstance(ex, self._clean):
                self._exception = ex
            self._stop.set()

    def clear_stop(self) -> None:
        """Begins anew: nothing is requested, nothing was raised."""
        with self._lock:
            self._joined = False
            self._exception = None
            self._stop.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """with coord.stop_on_exception(): what is raised within requests a stop, and
        is for join() to raise; Ctrl-C and the like go on at once besides."""
        try:
            yield
        except Exception as e:
            self.request_stop(e)
        except BaseException as e:
            self.request_stop(e)
            raise

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested; whether one was."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """join() waits for this one too."""
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended, then raises what was handed to
        request_stop.

        Once a stop is requested they have `stop_grace_period_secs` to end.
        """
        with self._lock:
            waited = self._registered | set(threads or ())
        # A short time-out each: a stop may be requested meanwhile.
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0):
            for thread in waited:
                thread.join(0.1)
                if self._stop.is_set():
                    break
        until = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            thread.join(max(0.0, until - time.monotonic()))
        alive = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            exception = self._exception
        if exception is not None:
            raise exception
        if alive and not ignore_live_threads:
            raise RuntimeError(
                "Coordinator: these threads did not stop in "
                f"{stop_grace_period_secs} s: {', '.join(alive)}"
            )

    @property
    def joined(self) -> bool:
        """Whether join() has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises what was handed to request_stop, if anything was."""
        with self._lock:
            exception = self._exception
        if exception is not None:
            raise exception
