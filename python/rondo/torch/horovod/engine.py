"""Engine: runs the operations of this rank together with those of the others.

An operation that a thread asks for is told to rank 0, whose Coordinator decides
which operations the ranks run and in which order; each runs them as it hears. On
rank 0 one thread listens, and another runs what was decided; on the others, which
hear only of decisions, one thread does both. While rank 0 runs an operation, what
gets ready meanwhile gathers, and small tensors of it are reduced at once. Requests of
the others gather too, while a thread of theirs sends those before; who waits for an
operation sends what is left itself.

A failure of an operation that the ranks do not agree on is that operation's.
All others are final: what is under way and what is asked for later fails with
the same text.
"""

import collections
import contextlib
import logging
import os
import threading
import time

import torch.distributed as dist

from . import execution
from .coordinator import Coordinator, Decision
from .entry import Entry
from .errors import HorovodInternalError, was_forked
from .group import Group
from .post import Post
from .request import Request

log = logging.getLogger("rondo.torch")

_GOODBYE = 5.0  # seconds for the others, before a rank that shuts down is gone
_SLACK = 10.0  # beyond a time-out, for rank 0 to say so itself


class Engine:
    def __init__(self, store, rank, size, settings, timeline):
        self.rank = rank
        self.size = size
        self._store = store
        self._settings = settings
        self._timeline = timeline
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._entries = {}  # by (set, name); guarded by it, as are those below
        self._since = {}  # when they were asked for
        self._failure = ""
        self.on_failure = None  # called once, on whichever thread
        self._closed = False
        self.groups = {0: Group(store, range(size), rank, settings, "hvd")}
        self._post = Post(self.groups[0].backend)
        self._telling = threading.Lock()  # held while sending to rank 0
        self._untold = collections.deque()  # requests that rank 0 has not been sent
        self._to_tell = threading.Event()  # there may be some
        self._next_look = 0.0  # for what is late
        self._told = threading.Condition()  # guards the coordinator
        self._coordinator = Coordinator(size, settings) if rank == 0 else None
        self._ended = False  # close() wants the threads to end
        self._over = threading.Event()  # all ranks have shut down
        self._settled = threading.Event()  # they have, or there is a failure
        self._threads = []
        if rank == 0:
            self._start(self._decide)
        if size > 1:
            self._start(self._hear_requests if rank == 0 else self._hear_decisions)
        if rank > 0:
            self._start(self._keep_telling)

    def _start(self, loop):
        def guarded():
            try:
                loop()
            except Exception as error:
                self._fail(str(error))

        thread = threading.Thread(target=guarded, name=f"hvd {loop.__name__}")
        thread.daemon = True
        thread.start()
        self._threads.append(thread)

    # ---- What the program calls ---------------------------------------------

    def submit(self, request, tensors=(), finish=None):
        """Asks for an operation; its Entry says how it ended."""
        entry = Entry(request, list(tensors), finish)
        key = (request.set, request.name)
        self._check_process(request)
        with self._lock:
            if self._failure or self._closed:
                raise HorovodInternalError(self._failure or "hvd.shutdown() was called")
            if key in self._entries:
                raise ValueError(
                    f"{request.title}: an operation of this name is under way; wait "
                    "for it first, or use another name"
                )
            self._entries[key] = entry
            if request.kind != "join":  # which waits for as long as the others work
                self._since[key] = time.monotonic()
        self._timeline.begin(request.name, f"NEGOTIATE_{request.kind.upper()}")
        self._tell(request)
        return entry

    def wait(self, entry):
        """The outcome of an operation, when it has one."""
        self._check_process(entry.request)
        if not entry.done.is_set():
            self._send_untold()
        while not entry.done.wait(1.0):
            self._watch()
        if entry.error is not None:
            raise entry.error
        return entry.outcome

    def _check_process(self, request):
        if self._pid != os.getpid():
            raise was_forked(request.kind, self._pid)

    def failure(self):
        with self._lock:
            return self._failure

    def abandon(self):
        """Ends the group on all ranks, if it has not failed, and closes."""
        self.on_failure = None
        if not self.failure():
            self.groups[0].backend.abort()
            self._fail("the ranks are to meet again")
        self.close()

    def close(self):
        """Leaves the job. The others have a few seconds to do so too, then what
        they ask of this rank fails."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            lost = bool(self._failure)
        if not lost:
            self._tell(Request("shutdown", "shutdown"))
            self._send_untold()
            self._settled.wait(_GOODBYE)
        self._fail("hvd.shutdown() was called")
        for group in self.groups.values():
            group.close("hvd.shutdown() was called")
        with self._told:
            self._ended = True
            self._told.notify()
        self._to_tell.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_GOODBYE)
        self.groups.clear()

    # ---- Telling and deciding -----------------------------------------------

    def _tell(self, request):
        if self.rank == 0:
            self._hear(0, [request])
        else:
            self._untold.append(request)
            self._to_tell.set()

    def _send_untold(self):
        """Tells rank 0 what it has not been told, in one message."""
        try:
            with self._telling:
                requests = []
                while self._untold:
                    requests.append(self._untold.popleft())
                if requests:
                    self._post.send(0, requests)
        except dist.DistBackendError as error:
            self._fail(str(error))

    def _keep_telling(self):
        while not self._ended:
            self._to_tell.wait()
            self._to_tell.clear()
            self._send_untold()

    def _hear(self, rank, requests):
        now = time.monotonic()
        with self._told:
            for request in requests:
                self._coordinator.submit(rank, Request(*request), now)
            if self._coordinator.has_decided():
                self._told.notify()

    def _watch(self):
        """Rank 0 reports what is late, unless it is late itself."""
        limit = self._settings.stall_error
        if not limit:
            return
        with self._lock:
            late = time.monotonic() - min(self._since.values(), default=float("inf"))
        if late > limit + _SLACK:
            self._fail(f"rank 0, which decides, has not answered for {late:.0f} s")

    def _tick(self):
        times = (self._settings.stall_warning, self._settings.stall_error)
        return min([1.0, *(seconds / 4 for seconds in times if seconds > 0)])

    def _decided(self):
        """What is to be run next; waits for it. None: the end."""
        with self._told:
            while not self._ended:
                self._look_for_the_late(time.monotonic())
                decisions = self._coordinator.take()
                if decisions:
                    return decisions
                self._told.wait(self._tick())
        return None

    def _look_for_the_late(self, now):
        """From time to time: there may be many operations that wait."""
        if now < self._next_look:
            return
        self._next_look = now + self._tick()
        for warning in self._coordinator.stalled(now):
            log.warning("rondo.torch: %s", warning)

    def _decide(self):
        while (decisions := self._decided()) is not None:
            for rank in range(1, self.size):
                his = [decision for ranks, decision in decisions if rank in ranks]
                if his:
                    # One that has left need not know.
                    with contextlib.suppress(dist.DistBackendError):
                        self._post.send(rank, his)
            for ranks, decision in decisions:
                if 0 in ranks:
                    self._run(decision)

    def _hear_requests(self):
        while True:
            try:
                self._hear(*self._post.receive())
            except dist.DistBackendError as error:
                with self._told:
                    left = self.size - len(self._coordinator.gone() | {0})
                if left:  # else they have said that they leave
                    self._lost(str(error))
                return

    def _hear_decisions(self):
        while True:
            try:
                _, decisions = self._post.receive(0)
            except dist.DistBackendError as error:
                self._lost(str(error))
                return
            for decision in decisions:
                self._run(Decision(*decision))

    def _lost(self, text):
        if not self._over.is_set():
            self._fail(text)

    # ---- Running ------------------------------------------------------------

    def _run(self, decision):
        if decision.kind == "shutdown":
            self._over.set()
            self._settled.set()
            return
        with self._lock:
            keys = [(decision.set, name) for name in decision.names]
            entries = [self._entries.pop(key, None) for key in keys]
            for key in keys:
                self._since.pop(key, None)
        entries = [entry for entry in entries if entry is not None]
        if decision.error:
            for entry in entries:
                entry.fail(HorovodInternalError(decision.error))
            return
        self._timeline.run(decision.names, decision.kind)
        try:
            if decision.kind in ("add_process_set", "remove_process_set"):
                self._change_groups(entries, decision)
            else:
                execution.run(self.groups[decision.set], entries, decision)
        except Exception as error:
            for entry in entries:
                entry.fail(HorovodInternalError(str(error)))
            self._fail(str(error))
            if not isinstance(error, dist.DistBackendError):
                self.groups[0].backend.abort()  # or the others would wait
        finally:
            self._timeline.end(decision.names)

    def _change_groups(self, entries, decision):
        """Process sets come and go as operations of all ranks."""
        request = entries[0].request if entries else Request(*decision.like)
        if decision.kind == "add_process_set":
            if self.rank in request.ranks:
                name = f"process set {decision.value}"
                store = dist.PrefixStore(f"set{decision.value}", self._store)
                group = Group(store, request.ranks, self.rank, self._settings, name)
                self.groups[decision.value] = group
        else:
            group = self.groups.pop(request.root, None)
            if group is not None:
                group.close("the process set was removed")
        for entry in entries:
            entry.succeed(decision.value)

    def _fail(self, text):
        with self._lock:
            if self._failure:
                return
            self._failure = text
            entries = list(self._entries.values())
            self._entries.clear()
            self._since.clear()
            told = None if self._closed else self.on_failure
        self._settled.set()
        for entry in entries:
            entry.fail(HorovodInternalError(text))
        if told is not None:
            told()
