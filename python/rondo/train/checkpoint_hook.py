"""The hook that saves checkpoints, and who is told of them."""

import logging
import os

from ..errors import InvalidArgumentError
from ..framework.graph import GraphKeys, get_default_graph
from .global_step import step_variable
from .session_run_hook import SessionRunArgs, SessionRunHook
from .step_timer import SecondOrStepTimer

_log = logging.getLogger("rondo")


class CheckpointSaverListener:
    """What a CheckpointSaverHook tells of its checkpoints."""

    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        pass

    def end(self, session, global_step_value):
        pass


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the beginning, every so often, and at the end."""

    def __init__(
        self,
        checkpoint_dir,
        save_secs=None,
        save_steps=None,
        saver=None,
        checkpoint_basename="model.ckpt",
        scaffold=None,
        listeners=None,
    ):
        if saver is not None and scaffold is not None:
            raise InvalidArgumentError(
                "CheckpointSaverHook: it takes saver or scaffold, not both"
            )
        self._dir = os.fspath(checkpoint_dir)
        self._path = os.path.join(self._dir, checkpoint_basename)
        self._saver = saver
        self._scaffold = scaffold
        self._listeners = list(listeners or ())
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        self._step = step_variable("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = int(session.run(self._step))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                self._save(run_context.session, step)

    def end(self, session):
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        for listener in self._listeners:
            listener.before_save(session, step)
        _log.info("Saving checkpoints for %d into %s.", step, self._path)
        os.makedirs(self._dir, exist_ok=True)
        self._get_saver().save(session, self._path, global_step=step)
        for listener in self._listeners:
            listener.after_save(session, step)

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(found) != 1:
            raise InvalidArgumentError(
                f"CheckpointSaverHook: the graph has {len(found)} savers; pass saver "
                "or scaffold"
            )
        self._saver = found[0]
        return self._saver
