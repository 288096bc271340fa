"""Supervisor: a session with checkpoints and summaries, by threads."""

import contextlib
import logging
import os

from ..errors import CancelledError, InvalidArgumentError, OutOfRangeError
from ..framework.coordinator import Coordinator
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.queue_runner import start_queue_runners
from ..framework.saver import Saver
from ..framework.summary_proto import Summary
from ..framework.variable import (
    global_variables_initializer,
    group,
    local_variables_initializer,
    report_uninitialized_variables,
)
from ..summary import FileWriter, merge_all
from .global_step import get_global_step
from .looper import LooperThread
from .scaffold import tables_initializer
from .session_manager import SessionManager
from .step_timer import SecondOrStepTimer

_log = logging.getLogger("rondo")

# What a body raises because of a stop that was asked for: the coordinator knows
# what else there is to say.
_OF_THE_STOP = (CancelledError, OutOfRangeError)


class Supervisor:
    """Begins a session from the latest checkpoint of `logdir` or by init_op, and
    saves checkpoints and summaries there until it is stopped.

        sv = Supervisor(logdir="run1")
        with sv.managed_session() as session:
            while not sv.should_stop():
                session.run(train_op)

    Only the chief initialises, saves and summarises; others wait for it.
    MonitoredTrainingSession does the same with hooks, and recovers.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph=None,
        ready_op=USE_DEFAULT,
        ready_for_local_init_op=USE_DEFAULT,
        is_chief=True,
        init_op=USE_DEFAULT,
        init_feed_dict=None,
        local_init_op=USE_DEFAULT,
        logdir=None,
        summary_op=USE_DEFAULT,
        saver=USE_DEFAULT,
        global_step=USE_DEFAULT,
        save_summaries_secs=120,
        save_model_secs=600,
        recovery_wait_secs=30,
        stop_grace_secs=120,
        checkpoint_basename="model.ckpt",
        session_manager=None,
        summary_writer=USE_DEFAULT,
        init_fn=None,
        local_init_run_options=None,
    ):
        self._graph = graph or get_default_graph()
        self._is_chief = is_chief
        self._logdir = None if logdir is None else os.fspath(logdir)
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._save_summaries_secs = save_summaries_secs
        self._save_model_secs = save_model_secs
        self._stop_grace_secs = stop_grace_secs
        self._basename = checkpoint_basename
        self._coord = Coordinator()
        with self._graph.as_default():
            self._ready_op = _default(
                ready_op, GraphKeys.READY_OP, report_uninitialized_variables
            )
            self._init_op = _default(
                init_op, GraphKeys.INIT_OP, global_variables_initializer
            )
            self._local_init_op = _default(
                local_init_op,
                GraphKeys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )
            self._summary_op = _default(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._saver = _default(
                saver, GraphKeys.SAVERS, lambda: Saver(allow_empty=True)
            )
            self._global_step = _default(
                global_step, GraphKeys.GLOBAL_STEP, get_global_step
            )
            ready_for_local_init_op = _default(
                ready_for_local_init_op,
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: None,
            )
        self._manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._writer = None
        if is_chief:
            self._writer = _default(summary_writer, None, self._make_writer)
        self._graph.finalize()

    def _make_writer(self):
        return None if self._logdir is None else FileWriter(self._logdir)

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    summary_writer = property(lambda self: self._writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)

    @property
    def save_path(self):
        """The name of checkpoints, without the step; None without a logdir."""
        if self._logdir is None:
            return None
        return os.path.join(self._logdir, self._basename)

    @contextlib.contextmanager
    def managed_session(
        self,
        master="",
        config=None,
        start_standard_services=True,
        close_summary_writer=True,
    ):
        """with sv.managed_session() as session: at the end threads are stopped, and
        what they or the body raised is raised, but for the end of the data."""
        session = late = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            with session.as_default(), self._graph.as_default():
                yield session
        except Exception as e:
            if self.should_stop() and not isinstance(e, _OF_THE_STOP):
                late = e
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    session.close()
        if late is not None:
            raise late

    def prepare_or_wait_for_session(
        self,
        master="",
        config=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        start_standard_services=True,
    ):
        """A session that is ready, with its threads running."""
        self._coord.clear_stop()
        if self._writer is not None:
            self._writer.reopen()
        if self._is_chief:
            session = self._manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            if self._writer is not None:
                self._writer.add_graph(self._graph)
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    def start_standard_services(self, sess):
        """The threads that save checkpoints and summaries. The chief's only."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services.")
        if self._logdir is None:
            _log.warning("Standard services need a 'logdir' passed to the Supervisor")
            return []
        threads = []
        summarise = self._save_summaries_secs and self._writer is not None
        if self._summary_op is not None and summarise:
            threads.append(
                self.loop(self._save_summaries_secs, self._summarise, (sess,))
            )
        if self._global_step is not None and summarise:
            timer = SecondOrStepTimer(every_steps=1)
            threads.append(
                self.loop(self._save_summaries_secs, self._count, (sess, timer))
            )
        if self._saver is not None and self._save_model_secs:
            threads.append(self.loop(self._save_model_secs, self._save, (sess,)))
        return threads

    def start_queue_runners(self, sess, queue_runners=None):
        if queue_runners is None:
            return start_queue_runners(sess, self._coord)
        threads = []
        for runner in queue_runners:
            threads += runner.create_threads(
                sess, coord=self._coord, daemon=True, start=True
            )
        return threads

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        """A thread that calls target again and again until the stop."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def should_stop(self):
        return self._coord.should_stop()

    def request_stop(self, ex=None):
        self._coord.request_stop(ex)

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    def stop(self, threads=None, close_summary_writer=True):
        """Stops the threads and waits for them; raises what one of them raised."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs)
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.close()

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary that the program computed."""
        if self._writer is None:
            raise InvalidArgumentError(
                "summary_computed: there is no summary writer; pass logdir"
            )
        if global_step is None and self._global_step is not None:
            global_step = sess.run(self._global_step)
        self._writer.add_summary(summary, global_step)

    def _summarise(self, sess):
        step = None if self._global_step is None else sess.run(self._global_step)
        self._writer.add_summary(sess.run(self._summary_op), step)

    def _count(self, sess, timer):
        step = int(sess.run(self._global_step))
        seconds, steps = timer.update_last_triggered_step(step)
        if seconds:
            value = Summary.Value("global_step/sec", steps / seconds)
            self._writer.add_summary(Summary(value=[value]), step)

    def _save(self, sess):
        self._saver.save(sess, self.save_path, global_step=self._global_step)

    Loop = loop
    PrepareSession = prepare_or_wait_for_session
    RequestStop = request_stop
    ShouldStop = should_stop
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    StopOnException = stop_on_exception
    SummaryComputed = summary_computed
    WaitForStop = wait_for_stop


def _default(given, key, make):
    """What is given. USE_DEFAULT is 0, which no operation is: then the first of a
    collection of the default graph, or a new one."""
    if not (isinstance(given, int) and given == 0):
        return given
    found = get_default_graph().get_collection(key) if key else ()
    return found[0] if found else make()
