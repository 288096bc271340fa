"""Regroup: how the ranks that are left meet again.

Whoever hears that the group has failed says in the job's store that it is alive,
on a thread of its own, so that one that is busy computing is not taken for lost.
Those that have come to meet wait for the others for a while; then one of them
writes down who is in the next group. Ranks of the job stay the names by which
they know each other; their numbers in the group are by that order.
"""

import contextlib
import datetime
import json

from .. import basics
from ..settings import Settings

# The time for all that are left to hear of a failure and to say that they are
# alive. In slices, so that a machine that stands still counts as one of them.
_SETTLE = [datetime.timedelta(seconds=0.5)] * 10


class Regroup:
    """Of one process; its first group is that of hvd.init()."""

    def __init__(self):
        self._job = basics.process().job
        self.members = list(range(self._job.size))
        self._number = 0
        self._watch()

    def _watch(self):
        engine = basics.engine()
        engine.on_failure = self._announce
        if engine.failure():
            self._announce()

    def _meeting(self):
        return self._job.part(f"elastic{self._number}")

    def _announce(self):
        self._meeting().set(f"alive{self._job.rank}", "1")

    def _decide(self, meeting):
        """Who is in the next group, in the words of whoever was first to say."""
        keys = {rank: f"alive{rank}" for rank in self.members}
        for slice_ in _SETTLE:
            with contextlib.suppress(RuntimeError):  # not all are there
                meeting.wait(list(keys.values()), slice_)
                break
        if meeting.add("deciders", 1) == 1:
            left = [rank for rank, key in keys.items() if meeting.check([key])]
            meeting.set("members", json.dumps(left))
        return json.loads(meeting.get("members"))

    def meet_again(self, failed):
        """Leaves the group, which may have failed, and enters the next one."""
        settings = Settings.from_environment()
        while True:
            basics.leave(failed)
            failed = True
            self._announce()
            members = self._decide(self._meeting())
            if self._job.rank not in members:
                raise RuntimeError(
                    f"rank {self._job.rank} was too late: ranks {members} go on "
                    "without it"
                )
            self.members = members
            store = self._job.part(f"group{self._number}")
            self._number += 1
            try:
                rank = members.index(self._job.rank)
                basics.start(store, rank, len(members), settings)
                self._watch()
                return
            except RuntimeError:
                # One more was lost before the others could connect to it.
                if len(members) == 1:
                    raise
