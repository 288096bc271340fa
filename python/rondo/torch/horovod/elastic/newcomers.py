"""Newcomers: ranks that are added to a job that runs, and wait to be taken in.

They enter themselves into a list in the job's store. Whoever comes to a meeting of
the ranks invites those that are on it; they come to that meeting too. An entry is
for one invitation: a newcomer that the meeting does not take in, because the one
that decided had not seen it, enters itself anew.
"""

import contextlib
import datetime
import logging
import threading
import time

log = logging.getLogger("rondo.torch")

_SLICE = datetime.timedelta(seconds=0.5)
_BEAT = 5.0  # seconds
_PATIENCE = 60.0
_beating = False


def show_life(job):
    """Says from time to time that there is somebody who may invite newcomers: of a
    process that is in a group, from now on."""
    global _beating
    if _beating:
        return
    _beating = True
    store = job.part("newcomers")

    def beat():
        with contextlib.suppress(RuntimeError):  # the store may be gone
            while True:
                store.add("beats", 1)
                time.sleep(_BEAT)

    threading.Thread(target=beat, name="hvd beat", daemon=True).start()


class Newcomers:
    """The list, as one process sees it."""

    def __init__(self, store, patience=_PATIENCE):
        self._store = store
        self._patience = patience
        self._seen = 0  # entries that need not be looked at again

    def are_waiting(self):
        """Whether there are entries that this process has not seen."""
        return self._store.add("entries", 0) > self._seen

    def invite(self, meeting):
        """Invites who is on the list to the meeting of this number; their ranks."""
        invited = []
        last = self._store.add("entries", 0)
        for entry in range(self._seen + 1, last + 1):
            # Its rank comes right behind its number, unless it was lost just then.
            with contextlib.suppress(RuntimeError):
                self._store.wait([f"rank{entry}"], _SLICE)
                if not self._store.check([f"meeting{entry}"]):
                    self._store.set(f"meeting{entry}", str(meeting))
                if int(self._store.get(f"meeting{entry}")) == meeting:
                    invited.append(int(self._store.get(f"rank{entry}")))
        self._seen = last
        return invited

    def enter(self, rank):
        """The number of the meeting that this rank is invited to; waits for it."""
        entry = self._store.add("entries", 1)
        self._store.set(f"rank{entry}", str(rank))
        self._seen = entry
        beats, heard = 0, time.monotonic()
        while not self._store.check(["over"]):
            with contextlib.suppress(RuntimeError):  # a time-out
                self._store.wait([f"meeting{entry}"], _SLICE)
                return int(self._store.get(f"meeting{entry}"))
            before, beats = beats, self._store.add("beats", 0)
            if beats != before:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._patience:
                log.error(
                    "rondo.torch: rank %d waits to join the job, and for %.0f s nobody "
                    "was there who could take it in: the others have ended",
                    rank,
                    self._patience,
                )
                raise SystemExit(1)
        log.warning("rondo.torch: the job ended before rank %d could join it", rank)
        raise SystemExit(0)

    def end(self):
        """Says that the job is over: nobody will be invited any more."""
        self._store.set("over", "1")
