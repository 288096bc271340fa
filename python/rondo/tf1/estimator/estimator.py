"""Estimator: a model function, trained, evaluated and asked from a folder."""

import inspect
import logging
import os
import tempfile

import numpy as np

import rondo as rd

from ... import metrics, train
from ...data import Dataset
from ...errors import InvalidArgumentError
from ...framework.graph import Graph, GraphKeys
from ...framework.saver import Saver
from ...framework.variable import group
from ..train import init_from_checkpoint
from .run_config import RunConfig
from .spec import EstimatorSpec, ModeKeys

_log = logging.getLogger("rondo")


class Estimator:
    """model_fn(features, labels, mode, params, config) gives an EstimatorSpec; what
    it does not take, it is not given. All that is learned is in `model_dir`; where
    there is nothing yet, trainable variables begin as those of a checkpoint,
    `warm_start_from`."""

    def __init__(
        self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None
    ):
        config = config or RunConfig()
        if not isinstance(warm_start_from, (str, os.PathLike, type(None))):
            raise InvalidArgumentError(
                f"Estimator: warm_start_from is {warm_start_from!r}; expected the path "
                "of a checkpoint"
            )
        self._model_fn = model_fn
        self._model_dir = model_dir or config.model_dir or tempfile.mkdtemp()
        self._config = config.replace(model_dir=self._model_dir)
        self._params = dict(params or {})
        self._warm_start_from = warm_start_from

    model_dir = property(lambda self: self._model_dir)
    config = property(lambda self: self._config)
    params = property(lambda self: dict(self._params))
    model_fn = property(lambda self: self._model_fn)

    def train(
        self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None
    ):
        """Trains until the input ends, or for `steps` more steps, or until there
        were max_steps."""
        if steps is not None and max_steps is not None:
            raise InvalidArgumentError("train: it takes steps or max_steps, not both")
        _check_steps("train", steps=steps, max_steps=max_steps)
        if max_steps is not None and self._trained_steps() >= max_steps:
            _log.info("Skipping training since max_steps has already saved.")
            return self
        hooks = list(hooks or ())
        if steps is not None or max_steps is not None:
            hooks.append(train.StopAtStepHook(steps, max_steps))
        with self._graph().as_default():
            train.get_or_create_global_step()
            spec = self._spec(input_fn, ModeKeys.TRAIN)
            if self._warm_start_from is not None and not self.latest_checkpoint():
                init_from_checkpoint(
                    self._warm_start_from,
                    {v.op.name: v for v in rd.trainable_variables()},
                )
            hooks += spec.training_hooks + spec.training_chief_hooks
            hooks.append(train.NanTensorHook(spec.loss))
            if self._config.log_step_count_steps:
                hooks.append(
                    train.LoggingTensorHook(
                        {"loss": spec.loss, "step": train.get_global_step()},
                        every_n_iter=self._config.log_step_count_steps,
                    )
                )
            self._summarise(spec.loss)
            self._run(spec, hooks, saving_listeners)
        return self

    def _run(self, spec, hooks, listeners):
        config = self._config
        scaffold = spec.scaffold or train.Scaffold(
            saver=Saver(
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                defer_build=True,
            )
        )
        hooks.append(
            train.CheckpointSaverHook(
                self._model_dir,
                config.save_checkpoints_secs,
                config.save_checkpoints_steps,
                scaffold=scaffold,
                listeners=listeners,
            )
        )
        with train.MonitoredTrainingSession(
            checkpoint_dir=self._model_dir,
            scaffold=scaffold,
            hooks=hooks,
            save_checkpoint_secs=None,
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            log_step_count_steps=config.log_step_count_steps,
        ) as session:
            loss = None
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        _log.info("Loss for final step: %s.", loss)

    def evaluate(
        self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None
    ):
        """{metric: value} of the whole input, or of `steps` batches."""
        _check_steps("evaluate", steps=steps)
        with self._graph().as_default():
            step = train.get_or_create_global_step()
            spec = self._spec(input_fn, ModeKeys.EVAL)
            pairs = dict(spec.eval_metric_ops)
            if "loss" not in pairs:
                pairs["loss"] = metrics.mean(spec.loss)
            update = group(*[pair[1] for pair in pairs.values()])
            values = {key: pair[0] for key, pair in pairs.items()}
            values[GraphKeys.GLOBAL_STEP] = step
            final = train.FinalOpsHook(values)
            all_hooks = [*(hooks or ()), *spec.evaluation_hooks, final]
            if steps is not None:
                all_hooks.append(_StopAfter(steps))
            with self._session(spec, checkpoint_path, all_hooks) as session:
                while not session.should_stop():
                    session.run(update)
        results = final.final_ops_values
        self._write_evaluation(results, name)
        return results

    def predict(
        self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None,
        yield_single_examples=True,
    ):  # fmt: skip
        """What the model says of each example, one after another."""
        # The graph is the default one while it is built only: the caller's code
        # runs between examples.
        with self._graph().as_default():
            train.get_or_create_global_step()
            spec = self._spec(input_fn, ModeKeys.PREDICT)
            wanted = spec.predictions
            if predict_keys is not None:
                wanted = {k: wanted[k] for k in wanted if k in predict_keys}
            all_hooks = [*(hooks or ()), *spec.prediction_hooks]
            session = self._session(spec, checkpoint_path, all_hooks)
        with session:
            while not session.should_stop():
                batch = session.run(wanted)
                if yield_single_examples:
                    yield from _examples(batch)
                else:
                    yield batch

    def get_variable_names(self):
        return [name for name, _ in train.list_variables(self._model_dir)]

    def get_variable_value(self, name):
        return train.load_variable(self._model_dir, name)

    def latest_checkpoint(self):
        return train.latest_checkpoint(self._model_dir)

    def eval_dir(self, name=None):
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def export_savedmodel(self, *args, **kwargs):
        raise InvalidArgumentError(
            "export_savedmodel: Rondo has no serving inputs; restore the checkpoint of "
            "model_dir, or use tf.saved_model.simple_save"
        )

    def _graph(self):
        graph = Graph()
        graph.seed = self._config.tf_random_seed
        return graph

    def _trained_steps(self):
        path = self.latest_checkpoint()
        if path is None:
            return 0
        return int(train.load_variable(path, "global_step"))

    def _spec(self, input_fn, mode):
        features, labels = _inputs(input_fn, mode)
        offered = {
            "labels": labels,
            "mode": mode,
            "params": self._params,
            "config": self._config,
        }
        takes = inspect.signature(self._model_fn).parameters
        if "labels" not in takes and labels is not None:
            raise InvalidArgumentError(
                "Estimator: the input has labels, which model_fn does not take"
            )
        given = {k: v for k, v in offered.items() if k in takes}
        spec = self._model_fn(features=features, **given)
        if not isinstance(spec, EstimatorSpec):
            raise InvalidArgumentError(
                f"Estimator: model_fn gave {spec!r}, expected an EstimatorSpec"
            )
        return spec

    def _session(self, spec, checkpoint_path, hooks):
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            raise InvalidArgumentError(
                f"Estimator: there is no trained model in {self._model_dir}; call "
                "train first"
            )
        creator = train.ChiefSessionCreator(
            spec.scaffold, "", self._config.session_config, None, path
        )
        return train.MonitoredSession(creator, hooks)

    def _summarise(self, loss):
        if not any(
            s.op.name.startswith("loss/")
            for s in rd.get_collection(GraphKeys.SUMMARIES)
        ):
            rd.summary.scalar("loss", loss)

    def _write_evaluation(self, results, name):
        values = [
            rd.summary.Summary.Value(tag=k, simple_value=float(v))
            for k, v in results.items()
            if k != GraphKeys.GLOBAL_STEP and np.ndim(v) == 0
        ]
        with rd.summary.FileWriter(self.eval_dir(name)) as writer:
            writer.add_summary(
                rd.summary.Summary(value=values), results[GraphKeys.GLOBAL_STEP]
            )


def _check_steps(who, **numbers):
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise InvalidArgumentError(f"{who}: {name} is {number}; expected 1 or more")


class _StopAfter(train.SessionRunHook):
    def __init__(self, runs):
        self._left = runs

    def after_run(self, run_context, run_values):
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


def _inputs(input_fn, mode):
    if "mode" in inspect.signature(input_fn).parameters:
        got = input_fn(mode=mode)
    else:
        got = input_fn()
    if isinstance(got, Dataset):
        got = got.make_one_shot_iterator().get_next()
    if isinstance(got, (tuple, list)) and len(got) == 2:
        return got[0], (None if mode == ModeKeys.PREDICT else got[1])
    return got, None


def _examples(batch):
    if not isinstance(batch, dict):
        yield from batch
        return
    count = len(next(iter(batch.values())))
    for i in range(count):
        yield {key: value[i] for key, value in batch.items()}
