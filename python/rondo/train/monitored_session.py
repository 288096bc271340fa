"""MonitoredSession: a session that hooks look in on, and that recovers."""

import logging
import os
import time

from ..errors import (
    InvalidArgumentError,
    OutOfRangeError,
    PeerLostError,
    UnavailableError,
)
from ..framework.coordinator import Coordinator
from ..framework.graph import get_default_graph
from ..framework.queue_runner import start_queue_runners
from ..framework.session import RunMetadata, RunOptions
from . import hooks as _hooks
from .checkpoint_hook import CheckpointSaverHook
from .global_step import get_global_step
from .scaffold import Scaffold
from .session_creator import (
    ChiefSessionCreator,
    ReplicaSessionCreator,
    WorkerSessionCreator,
)
from .session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues
from .strategy import strategy_of

_log = logging.getLogger("rondo")

# After one of these a new session may work where this one does not.
_RECOVERABLE = (UnavailableError, PeerLostError)
_RECOVERY_SECS = 600


class MonitoredSession:
    """A session whose variables have values, with hooks around every run.

        with MonitoredSession(hooks=[StopAtStepHook(1000)]) as session:
            while not session.should_stop():
                session.run(train_op)

    Queue runners are started. When a worker or server is lost, the session is
    made anew, from the last checkpoint, and the run repeated. The end of the
    data (OutOfRangeError) leaves the `with` without an error.
    """

    _recovers = True

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        self._creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks or ())
        self._grace = stop_grace_period_secs
        self._graph = get_default_graph()
        strategy = strategy_of(self._graph)
        if strategy is not None:
            # Ranks begin alike, and a group has failed as a whole when one has.
            self._creator = ReplicaSessionCreator(self._creator, strategy)
            self._recovers = False
        self._session = None
        self._coord = None
        self._closed = False
        self._stopping = False
        self._recovering = False  # no run has succeeded since the last failure
        for hook in self._hooks:
            hook.begin()
        # Servers may come and go while the variables get their values, too.
        try:
            self._until_it_works(self._want_session)
        except BaseException:
            self._drop()  # nobody else can: there is no object to close
            raise

    @property
    def graph(self):
        return self._graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """As Session.run, with what the hooks add.

        A session that is lost is made anew for as long as ten minutes. Once a
        hook has asked for the end, it is an error.
        """

        def once():
            if self._closed:
                raise RuntimeError("run: this session is closed")
            if self._stopping:
                raise RuntimeError(
                    "run: a hook has asked for the end; call should_stop() before "
                    "each run"
                )
            self._want_session()
            return self._run(fetches, feed_dict, options, run_metadata)

        return self._until_it_works(once)

    def run_step_fn(self, step_fn):
        """step_fn(step_context): its session runs without hooks, run_with_hooks
        with them, and request_stop raises StopIteration, which ends the `with`."""
        if self._closed:
            raise RuntimeError("run_step_fn: this session is closed")
        self._want_session()
        return step_fn(StepContext(self))

    def should_stop(self):
        """Whether a hook, a thread or close() asked for the end. A thread that lost
        a worker or server did not: the next run is in a new session."""
        if self._closed or self._stopping:
            return True
        if self._coord is None or not self._coord.should_stop():
            return False
        try:
            self._coord.raise_requested_exception()
        except _RECOVERABLE as e:
            if self._recovers:
                self._lose(e)
                return False
        except Exception:
            pass  # close() raises it
        return True

    def close(self):
        """The end: hooks are told, threads stopped, the session closed."""
        self._close(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is not None and issubclass(kind, (OutOfRangeError, StopIteration)):
            self._close(None)
            return True
        self._close(value)
        return False

    def _until_it_works(self, call):
        """What call() gives, with a new session each time one is lost."""
        until, pause = None, 0.1
        while True:
            try:
                result = call()
                self._recovering = False
                return result
            except _RECOVERABLE as e:
                if not self._recovers:
                    raise
                self._lose(e)
                now = time.monotonic()
                until = until or now + _RECOVERY_SECS
                if now + pause > until:
                    raise
                if self._recovering:
                    time.sleep(pause)
                    pause = min(2 * pause, 5.0)
                self._recovering = True

    def _want_session(self):
        if self._session is None:
            self._open()

    def _open(self):
        with self._graph.as_default():
            self._session = self._creator.create_session()
        self._coord = Coordinator(clean_stop_exception_types=())
        start_queue_runners(self._session, self._coord)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coord)

    def _run(self, fetches, feed_dict, options, run_metadata):
        original = SessionRunArgs(fetches, feed_dict, options)
        context = SessionRunContext(original, self._session)
        feeds = dict(feed_dict or {})
        wanted = {"caller": fetches}
        trace, timeout = _run_options(options)
        for i, hook in enumerate(self._hooks):
            asked = hook.before_run(context)
            if asked is None:
                continue
            if asked.fetches is not None:
                wanted[i] = asked.fetches
            for tensor, value in (asked.feed_dict or {}).items():
                if tensor in feeds:
                    raise InvalidArgumentError(
                        f"run: both the caller and a hook feed {tensor!r}"
                    )
                feeds[tensor] = value
            theirs = _run_options(asked.options)
            trace, timeout = max(trace, theirs[0]), max(timeout, theirs[1])
        options = RunOptions(trace_level=trace, timeout_in_ms=timeout)
        metadata = run_metadata if run_metadata is not None else RunMetadata()
        try:
            results = self._session.run(wanted, feeds, options, metadata)
        except Exception as e:
            # A thread that feeds this session may be the real cause.
            if not isinstance(e, _RECOVERABLE) and self._coord.should_stop():
                self._coord.raise_requested_exception()
            raise
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(i), options, metadata))
        self._stopping = self._stopping or context.stop_requested
        return results["caller"]

    def _lose(self, error):
        """Gives up a session that failed."""
        _log.warning("A new session is made, as the last one failed: %s", error)
        self._drop()

    def _drop(self):
        session, coord = self._session, self._coord
        self._session = self._coord = None
        if coord is not None:
            coord.request_stop()
        if session is not None:
            session.close()

    def _close(self, error):
        if self._closed:
            return
        self._closed = True
        try:
            if error is None and self._session is not None:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            if self._session is not None:
                self._coord.request_stop()
                self._session.close()
                try:
                    self._coord.join(
                        stop_grace_period_secs=self._grace, ignore_live_threads=True
                    )
                except Exception as e:
                    if error is None:
                        raise
                    _log.info("A thread ended with %s", e)
                self._session = None


class StepContext:
    """What run_step_fn gives the step function."""

    def __init__(self, monitored):
        self._monitored = monitored

    @property
    def session(self):
        return self._monitored._session

    def run_with_hooks(self, *args, **kwargs):
        return self._monitored.run(*args, **kwargs)

    def request_stop(self):
        """Ends the step function, and the `with` of the session."""
        self._monitored._stopping = True
        raise StopIteration("the step function asked for the end")


class SingularMonitoredSession(MonitoredSession):
    """A MonitoredSession that does not recover, and so has one session."""

    _recovers = False

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self):
        return self._session


def _run_options(options):
    if options is None:
        return 0, 0
    return options.trace_level, options.timeout_in_ms


_UNSET = object()


def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=_UNSET,
    save_summaries_steps=_UNSET,
    save_summaries_secs=_UNSET,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=_UNSET,
    summary_dir=None,
):
    """A MonitoredSession with the hooks that training wants.

    The chief begins from the latest checkpoint of `checkpoint_dir`, saves one
    every save_checkpoint_secs (600) or save_checkpoint_steps, writes summaries
    every save_summaries_steps (100) or save_summaries_secs to `summary_dir` or
    there, and logs the steps per second. Others wait for the chief.

    Where an optimizer of a strategy trains the graph, every rank has a session of
    its own; rank 0 is the chief, and all begin with its variables. A rank that is
    lost ends the others.
    """
    hooks = list(hooks or ())
    scaffold = scaffold or Scaffold()
    strategy = strategy_of(get_default_graph())
    if strategy is not None and strategy.rank != 0:
        creator = ChiefSessionCreator(scaffold, master, config)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    if strategy is None and not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    hooks += list(chief_only_hooks or ())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    every = _period("summaries", save_summaries_secs, save_summaries_steps, (None, 100))
    if summary_dir:
        summary_dir = os.fspath(summary_dir)
        if log_step_count_steps and get_global_step() is not None:
            hooks.append(
                _hooks.StepCounterHook(log_step_count_steps, output_dir=summary_dir)
            )
        if every:
            hooks.append(
                _hooks.SummarySaverHook(
                    save_secs=every[0],
                    save_steps=every[1],
                    output_dir=summary_dir,
                    scaffold=scaffold,
                )
            )
    every = _period(
        "checkpoint", save_checkpoint_secs, save_checkpoint_steps, (600, None)
    )
    if checkpoint_dir and every:
        hooks.append(
            CheckpointSaverHook(checkpoint_dir, every[0], every[1], scaffold=scaffold)
        )
    return MonitoredSession(creator, hooks, stop_grace_period_secs)


def _period(what, secs, steps, default):
    """(seconds, steps) of which one is None; None for never."""
    if secs is _UNSET and steps is _UNSET:
        return default
    secs, steps = (
        None if x is _UNSET or x is None or x <= 0 else x for x in (secs, steps)
    )
    if secs and steps:
        raise InvalidArgumentError(
            f"MonitoredTrainingSession: it takes save_{what}_secs or "
            f"save_{what}_steps, not both"
        )
    return (secs, steps) if secs or steps else None
