"""The standard hooks of monitored sessions."""

import logging
import os

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.graph import get_default_graph
from ..framework.session import RunOptions
from ..framework.summary_proto import Summary
from ..summary import FileWriterCache
from .global_step import step_variable
from .session_run_hook import SessionRunArgs, SessionRunHook
from .step_timer import SecondOrStepTimer

_log = logging.getLogger("rondo")


class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` more steps, or once `last_step` is reached."""

    def __init__(self, num_steps=None, last_step=None):
        if (num_steps is None) == (last_step is None):
            raise InvalidArgumentError(
                "StopAtStepHook: it takes either num_steps or last_step"
            )
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self):
        self._step = step_variable("StopAtStepHook")

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        # What the run saw is the count before it; other workers count too.
        if run_values.results + 1 >= self._last_step:
            if run_context.session.run(self._step) >= self._last_step:
                run_context.request_stop()


class SummarySaverHook(SessionRunHook):
    """Writes summaries, for TensorBoard, every so often."""

    def __init__(
        self,
        save_steps=None,
        save_secs=None,
        output_dir=None,
        summary_writer=None,
        scaffold=None,
        summary_op=None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise InvalidArgumentError(
                "SummarySaverHook: it takes either scaffold or summary_op"
            )
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._output_dir = output_dir
        self._writer = summary_writer
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        if self._writer is None and self._output_dir is not None:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = step_variable("SummarySaverHook")
        self._now, self._next_step = False, None

    def _summaries(self):
        op = self._summary_op
        if op is None:
            op = self._scaffold.summary_op
        if op is None:
            return None
        return list(op) if isinstance(op, (list, tuple)) else [op]

    def before_run(self, run_context):
        self._now = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        wanted = {"step": self._step}
        summaries = self._summaries()
        if self._now and summaries is not None:
            wanted["summaries"] = summaries
        return SessionRunArgs(wanted)

    def after_run(self, run_context, run_values):
        step = int(run_values.results["step"]) + 1
        if self._now:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summaries", ()):
                if self._writer is not None:
                    self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session):
        if self._writer is not None:
            self._writer.flush()


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every so often, or at the end."""

    def __init__(
        self,
        tensors,
        every_n_iter=None,
        every_n_secs=None,
        at_end=False,
        formatter=None,
    ):
        if every_n_iter is None and every_n_secs is None and not at_end:
            raise InvalidArgumentError(
                "LoggingTensorHook: it takes every_n_iter, every_n_secs or at_end"
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise InvalidArgumentError(
                f"LoggingTensorHook: every_n_iter is {every_n_iter}; expected 1 or more"
            )
        if not isinstance(tensors, dict):
            tensors = {getattr(t, "name", t): t for t in tensors}
        self._tensors = tensors
        self._timer = None
        if every_n_iter is not None or every_n_secs is not None:
            self._timer = SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end
        self._formatter = formatter

    def begin(self):
        if self._timer is not None:
            self._timer.reset()
        self._runs = 0
        graph = get_default_graph()
        self._fetches = {
            tag: graph.as_graph_element(t) for tag, t in self._tensors.items()
        }

    def before_run(self, run_context):
        self._now = self._timer is not None and self._timer.should_trigger_for_step(
            self._runs
        )
        return SessionRunArgs(self._fetches) if self._now else None

    def after_run(self, run_context, run_values):
        if self._now:
            self._write(run_values.results)
        self._runs += 1

    def end(self, session):
        if self._at_end:
            self._write(session.run(self._fetches))

    def _write(self, values):
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._runs)
        if self._formatter is not None:
            _log.info("%s", self._formatter(values))
            return
        text = ", ".join(f"{tag} = {value}" for tag, value in values.items())
        _log.info("%s%s", text, "" if seconds is None else f" ({seconds:.3f} sec)")


class StepCounterHook(SessionRunHook):
    """Logs and writes as a summary how many steps a second are made."""

    def __init__(
        self,
        every_n_steps=100,
        every_n_secs=None,
        output_dir=None,
        summary_writer=None,
    ):
        if every_n_secs is not None:
            every_n_steps = None
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir = output_dir
        self._writer = summary_writer

    def begin(self):
        if self._writer is None and self._output_dir is not None:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = step_variable("StepCounterHook")
        self._tag = f"{self._step.op.name}/sec"

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        seconds, steps = self._timer.update_last_triggered_step(step)
        if not seconds:
            return
        rate = steps / seconds
        _log.info("%s: %g", self._tag, rate)
        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)

    def end(self, session):
        if self._writer is not None:
            self._writer.flush()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops, or fails, when the loss is not a number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        if not np.isnan(run_values.results):
            return
        if self._fail:
            _log.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        _log.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Waits before the first run until the global step is `wait_until_step`, so that
    workers begin one after another."""

    _POLL_SECS = 0.5

    def __init__(self, wait_until_step):
        self._until = wait_until_step

    def begin(self):
        self._step = step_variable("GlobalStepWaiterHook")
        self._begun = self._until <= 0

    def after_create_session(self, session, coord):
        self._coord = coord

    def before_run(self, run_context):
        while not self._begun:
            step = int(run_context.session.run(self._step))
            self._begun = step >= self._until or self._coord.should_stop()
            if not self._begun:
                _log.info(
                    "Waiting for global step %d before training: it is %d.",
                    self._until, step,
                )  # fmt: skip
                self._coord.wait_for_stop(self._POLL_SECS)


class FinalOpsHook(SessionRunHook):
    """Runs something at the end; its value is `final_ops_values`."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values = None

    @property
    def final_ops_values(self):
        return self._values

    def end(self, session):
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)


class FeedFnHook(SessionRunHook):
    """Feeds every run what `feed_fn()` gives."""

    def __init__(self, feed_fn):
        self._feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=[], feed_dict=self._feed_fn())


class ProfilerHook(SessionRunHook):
    """Writes the times of a run's operations every so often, as
    timeline-<step>.json, which chrome://tracing and Perfetto read."""

    def __init__(
        self,
        save_steps=None,
        save_secs=None,
        output_dir="",
        show_dataflow=True,
        show_memory=False,
    ):
        self._dir = output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        self._step = step_variable("ProfilerHook")
        self._next_step = None

    def before_run(self, run_context):
        self._now = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        level = RunOptions.FULL_TRACE if self._now else RunOptions.NO_TRACE
        return SessionRunArgs(self._step, options=RunOptions(trace_level=level))

    def after_run(self, run_context, run_values):
        step = int(run_values.results) + 1
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        if self._now:
            self._timer.update_last_triggered_step(step)
            os.makedirs(self._dir or ".", exist_ok=True)
            with open(os.path.join(self._dir, f"timeline-{step}.json"), "w") as file:
                file.write(run_values.run_metadata.trace or "")
        self._next_step = step + 1


__all__ = [
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
]
