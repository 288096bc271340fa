"""train_and_evaluate: an estimator trained, and evaluated now and then."""

from ...errors import InvalidArgumentError
from ...train import CheckpointSaverListener


class TrainSpec:
    """What to train with."""

    def __init__(self, input_fn, max_steps=None, hooks=None):
        self.input_fn = input_fn
        self.max_steps = max_steps
        self.hooks = list(hooks or ())


class EvalSpec:
    """What to evaluate with."""

    def __init__(
        self, input_fn, steps=100, name=None, hooks=None, exporters=None,
        start_delay_secs=120, throttle_secs=600,
    ):  # fmt: skip
        self.input_fn = input_fn
        self.steps = steps
        self.name = name
        self.hooks = list(hooks or ())
        if exporters:
            raise InvalidArgumentError("EvalSpec: exporters are not supported")


class _Evaluation(CheckpointSaverListener):
    """Evaluates at each checkpoint but the first, which nothing was trained for."""

    def __init__(self, estimator, spec):
        self.results = None
        self._estimator = estimator
        self._spec = spec
        self._first = True

    def after_save(self, session, global_step_value):
        if self._first:
            self._first = False
            return
        self.results = self._estimator.evaluate(
            self._spec.input_fn, self._spec.steps, self._spec.hooks,
            name=self._spec.name,
        )  # fmt: skip


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains, and evaluates each checkpoint that is saved: (results, [])."""
    evaluation = _Evaluation(estimator, eval_spec)
    estimator.train(
        train_spec.input_fn,
        train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[evaluation],
    )
    return evaluation.results, []
