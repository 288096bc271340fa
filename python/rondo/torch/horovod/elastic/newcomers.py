"""Newcomers: ranks that are added to a job that runs, and wait to be taken in.

They enter themselves into a list in the job's store, and ring when their entry is
whole. Whoever comes to a meeting of the ranks invites those that are on it; they come
to that meeting too. An entry is for one invitation: a newcomer that the meeting does
not take in, because the one that decided had not seen it, enters itself anew.

Nobody waits for an entry to become whole: one whose newcomer was lost stays as it is,
and one whose newcomer stood still is looked at again when it rings.
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

    def __init__(self, store, is_over=lambda: False, patience=_PATIENCE):
        self._store = store
        self._is_over = is_over  # whether nobody is invited any more
        self._patience = patience
        self._rings = 0  # that were heard
        self._entries = 0  # that are known
        self._open = []  # those of them that this process may still invite

    def _look(self):
        # First what has rung: who rings from here on is heard the next time.
        self._rings = self._store.add("rings", 0)
        last = self._store.add("entries", 0)
        self._open += range(self._entries + 1, last + 1)
        self._entries = last

    def _is_whole(self, entry):
        return self._store.check([f"rank{entry}"])

    def _is_invited(self, entry):
        return self._store.check([f"meeting{entry}"])

    def are_waiting(self):
        """Whether there are some that nobody has invited."""
        if self._store.add("rings", 0) == self._rings:
            return False
        self._look()
        return any(self._is_whole(e) and not self._is_invited(e) for e in self._open)

    def invite(self, meeting):
        """Invites who is on the list to the meeting of this number; their ranks."""
        self._look()
        whole = [entry for entry in self._open if self._is_whole(entry)]
        self._open = [entry for entry in self._open if entry not in whole]
        invited = []
        for entry in whole:
            if not self._is_invited(entry):
                self._store.set(f"meeting{entry}", str(meeting))
            if int(self._store.get(f"meeting{entry}")) == meeting:
                invited.append(int(self._store.get(f"rank{entry}")))
        return invited

    def enter(self, rank):
        """The number of the meeting that this rank is invited to; waits for it."""
        entry = self._store.add("entries", 1)
        self._store.set(f"rank{entry}", str(rank))
        self._store.add("rings", 1)
        # In slices, so that a machine that stands still counts as one of them.
        beats, silent = 0, 0.0
        while not self._is_over():
            with contextlib.suppress(RuntimeError):  # a time-out
                self._store.wait([f"meeting{entry}"], _SLICE)
                return int(self._store.get(f"meeting{entry}"))
            before, beats = beats, self._store.add("beats", 0)
            silent = 0.0 if beats != before else silent + _SLICE.total_seconds()
            if silent > self._patience:
                log.error(
                    "rondo.torch: rank %d waits to join the job, and for %.0f s nobody "
                    "was there who could take it in: the others have ended",
                    rank,
                    self._patience,
                )
                raise SystemExit(1)
        log.warning("rondo.torch: the job ended before rank %d could join it", rank)
        raise SystemExit(0)
