"""Regroup: how the ranks that are left, and those that are added, meet again.

Whoever hears that the group has failed says in the job's store that it is alive,
on a thread of its own, so that one that is busy computing is not taken for lost.
Those that have come to meet wait for the others for a while; then one of them
writes down who is in the next group. Ranks of the job stay the names by which
they know each other; their numbers in the group are by seniority, so that rank 0 is
one that has the state.

One that is to decide and does not, because it was lost or stands still, must not
hold up the others, nor, when it goes on, make a group of its own. So one other may
give the meeting up, and which of the two was first is what the store's counter
"verdict" says: each adds a number of its own to it once. A meeting that was given up
has null for members, for whoever decides late too, and all go to the next.
"""

import contextlib
import datetime
import json
import math

from .. import basics
from ..settings import Settings
from .newcomers import Newcomers

# The time for all that are left to hear of a failure and to say that they are
# alive. In slices, so that a machine that stands still counts as one of them.
_SLICE = datetime.timedelta(seconds=0.5)
_SETTLE = 5.0
# What is added to the verdict.
_PROPOSED = 1
_GIVEN_UP = 2


def _propose(meeting, members):
    """Of the one that decides. The proposal is there before it can win."""
    meeting.set("proposal", members)
    first = meeting.add("verdict", _PROPOSED) == _PROPOSED
    meeting.set("members", members if first else "null")


def _give_up(meeting):
    """Of those that have waited for it: one of them does it for all."""
    if meeting.add("quitters", 1) > 1:
        return
    first = meeting.add("verdict", _GIVEN_UP) == _GIVEN_UP
    meeting.set("members", "null" if first else meeting.get("proposal"))


def _comes(store, keys, seconds, unless=None):
    """Waits until they are all there, or another is; whether they came in time."""
    for _ in range(math.ceil(seconds / _SLICE.total_seconds())):
        if unless and store.check([unless]):
            break
        with contextlib.suppress(RuntimeError):  # a time-out
            store.wait(keys, _SLICE)
            return True
    return False


class Regroup:
    """Of one process: the meetings of a job are numbered, whichever function asks
    for them. The first group is that of hvd.init()."""

    _of_process = None
    is_newcomer = False  # it has not been in a group with the others' state yet

    @classmethod
    def of_process(cls):
        if cls._of_process is None:
            cls._of_process = cls(basics.process().job)
        one = cls._of_process
        if len(one.members) != basics.size():  # hvd.init() has been called again
            one.members = list(range(basics.size()))
        one.watch()
        return one

    @classmethod
    def enter(cls, job, settings):
        """Joins a job that runs: of a process that was added to it."""
        one = cls._of_process = cls(job)
        one.is_newcomer = True
        members = None
        while members is None or job.rank not in members:
            one._number = one.newcomers().enter(job.rank)
            meeting = one._meeting()
            one._announce()
            if _comes(meeting, ["members"], settings.connect_timeout):
                members = json.loads(meeting.get("members"))
        if not one._begin(members, settings):
            one.meet_again(True)

    def __init__(self, job):
        self._job = job
        self._newcomers = None
        self.members = list(range(job.size))
        self._number = 0
        self._store = None  # of a group that was made by a meeting

    def newcomers(self):
        if self._newcomers is None:
            job = self._job
            self._newcomers = Newcomers(job.part("newcomers"), job.is_over)
        return self._newcomers

    def watch(self):
        """Says that this rank is alive when its group fails."""
        engine = basics.engine()
        engine.on_failure = self._announce
        if engine.failure():
            self._announce()

    def _meeting(self):
        return self._job.part(f"elastic{self._number}")

    def _announce(self):
        self._meeting().set(f"alive{self._job.rank}", "1")

    def _connecting(self):
        """Members that may still try to connect to one that was lost meanwhile."""
        if self._store is None:
            return []
        return [r for r in self.members if not self._store.check([f"up{r}"])]

    def _decide(self, meeting, settings, invited=()):
        """Who is in the next group: the same for all that ask. None if the one that
        was to say so did not in time."""
        keys = {rank: f"alive{rank}" for rank in [*self.members, *invited]}
        if not _comes(meeting, list(keys.values()), _SETTLE):
            late = [keys[rank] for rank in self._connecting()]
            if late:
                _comes(meeting, late, settings.connect_timeout, unless="members")
        if meeting.add("deciders", 1) == 1:
            left = [rank for rank, key in keys.items() if meeting.check([key])]
            _propose(meeting, json.dumps(left))
        elif not _comes(meeting, ["members"], 2 * _SETTLE):
            _give_up(meeting)
        if not _comes(meeting, ["members"], settings.connect_timeout):
            raise RuntimeError(
                "the ranks that are left could not agree on who they are: two of them "
                "fell silent while they decided; start the job again"
            )
        return json.loads(meeting.get("members"))

    def meet_again(self, failed):
        """Leaves the group, which may have failed, and enters the next one."""
        settings = Settings.from_environment()
        while True:
            basics.leave(failed)
            failed = True
            self._announce()
            invited = []
            if settings.may_grow:
                invited = self.newcomers().invite(self._number)
            members = self._decide(self._meeting(), settings, invited)
            if members is None:
                self._number += 1
                continue
            if self._job.rank not in members:
                raise RuntimeError(
                    f"rank {self._job.rank} was too late: ranks {members} go on "
                    "without it"
                )
            if self._begin(members, settings):
                return

    def _begin(self, members, settings):
        """Enters the group that a meeting has decided on. False if one more was lost
        before the others could connect to it."""
        self.members = members
        self._store = self._job.part(f"group{self._number}")
        self._number += 1
        try:
            rank = members.index(self._job.rank)
            basics.start(self._store, rank, len(members), settings)
            self._store.set(f"up{self._job.rank}", "1")
            self.watch()
        except RuntimeError:
            if len(members) == 1:
                raise
            return False
        return True


def somebody_waits():
    """Whether rank 0, which looks for all, sees newcomers."""
    one = Regroup._of_process
    if one is None or not basics.process().settings.may_grow or basics.rank() != 0:
        return False
    return one.newcomers().are_waiting()
