"""train_and_evaluate: an estimator trained, and evaluated now and then."""

from ...errors import InvalidArgumentError
from ...train import CheckpointSaverListener, SecondOrStepTimer


class TrainSpec:
    """What to train with."""

    def __init__(self, input_fn, max_steps=None, hooks=None):
        self.input_fn = input_fn
        self.max_steps = max_steps
        self.hooks = list(hooks or ())


class EvalSpec:
    """What to evaluate with, and how many seconds apart at the least.
    `start_delay_secs` is of clusters, whose evaluators run beside the training."""

    def __init__(
        self, input_fn, steps=100, name=None, hooks=None, exporters=None,
        start_delay_secs=120, throttle_secs=600,
    ):  # fmt: skip
        self.input_fn = input_fn
        self.steps = steps
        self.name = name
        self.throttle_secs = throttle_secs
        self.hooks = list(hooks or ())
        if exporters:
            raise InvalidArgumentError("EvalSpec: exporters are not supported")


class _Evaluation(CheckpointSaverListener):
    """Evaluates at checkpoints: not the first, which nothing was trained for, nor
    those that come too soon after another, but the last one."""

    def __init__(self, estimator, spec):
        self.results = None
        self._estimator = estimator
        self._spec = spec
        self._first = True
        self._timer = SecondOrStepTimer(every_secs=spec.throttle_secs)

    def after_save(self, session, global_step_value):
        if self._first:
            self._first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)

    def end(self, session, global_step_value):
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step):
        self._timer.update_last_triggered_step(step)
        self.results = self._estimator.evaluate(
            self._spec.input_fn, self._spec.steps, self._spec.hooks,
            name=self._spec.name,
        )  # fmt: skip


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains, and evaluates checkpoints on the way and the last: (results, [])."""
    evaluation = _Evaluation(estimator, eval_spec)
    estimator.train(
        train_spec.input_fn,
        train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[evaluation],
    )
    return evaluation.results, []
