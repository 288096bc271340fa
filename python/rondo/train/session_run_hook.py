"""SessionRunHook: what looks in on the runs of a monitored session."""

import collections


class SessionRunArgs(
    collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])
):
    """What a hook adds to a run."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


SessionRunValues = collections.namedtuple(
    "SessionRunValues", ["results", "options", "run_metadata"]
)
SessionRunValues.__doc__ = "What a run gave for a hook's fetches."


class SessionRunContext:
    """A run that hooks look in on: what was asked for, and the session."""

    def __init__(self, original_args, session):
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self):
        return self._original_args

    @property
    def session(self):
        return self._session

    @property
    def stop_requested(self):
        return self._stop_requested

    def request_stop(self):
        """This run is the last one."""
        self._stop_requested = True


class SessionRunHook:
    """The base: each method does nothing."""

    def begin(self):
        """Before the session is made: the graph can still be added to."""

    def after_create_session(self, session, coord):
        """A session is there, the first one or one after a failure."""

    def before_run(self, run_context):
        """SessionRunArgs to add to the run, or None."""

    def after_run(self, run_context, run_values):
        """After a run that did not fail; run_values are of what before_run added."""

    def end(self, session):
        """At the end, unless that is an error."""
