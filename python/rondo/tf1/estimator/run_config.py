"""RunConfig: where and how often an estimator saves."""

import json
import os

from ...errors import InvalidArgumentError

_FIELDS = {
    "model_dir": None,
    "tf_random_seed": None,
    "save_summary_steps": 100,
    "save_checkpoints_steps": None,
    "save_checkpoints_secs": 600,
    "session_config": None,
    "keep_checkpoint_max": 5,
    "keep_checkpoint_every_n_hours": 10000,
    "log_step_count_steps": 100,
}
# Of clusters, which an estimator, that has one process, does not run on.
_OF_CLUSTERS = ("train_distribute", "device_fn", "protocol", "eval_distribute")
_SAVES = ("save_checkpoints_steps", "save_checkpoints_secs")


def _checked(fields):
    """Either number of _SAVES puts the other one aside."""
    for name in _OF_CLUSTERS:
        if fields.pop(name, None) is not None:
            raise InvalidArgumentError(
                f"RunConfig: {name} is not supported: an estimator runs in one "
                "process; tf.train.MonitoredTrainingSession runs on clusters"
            )
    unknown = set(fields) - set(_FIELDS)
    if unknown:
        raise InvalidArgumentError(f"RunConfig: there is no {sorted(unknown)}")
    given = [name for name in _SAVES if fields.get(name) is not None]
    if len(given) == 2:
        raise InvalidArgumentError(f"RunConfig: it takes one of {', '.join(_SAVES)}")
    if given:
        fields = {**dict.fromkeys(_SAVES), **fields}
    return fields


def _refuse_clusters():
    """Each process of the cluster would train for itself, in one folder."""
    try:
        cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster") or {}
    except ValueError as e:
        raise InvalidArgumentError(f"TF_CONFIG is no JSON: {e}") from None
    if sum(map(len, cluster.values())) > 1:
        raise InvalidArgumentError(
            "TF_CONFIG names a cluster, but an estimator runs in one process; use "
            "tf.train.MonitoredTrainingSession, or unset it"
        )


class RunConfig:
    """Settings of an estimator."""

    def __init__(self, model_dir=None, tf_random_seed=None, **fields):
        _refuse_clusters()
        self.__dict__.update(_FIELDS)
        self.__dict__.update(
            _checked(fields), model_dir=model_dir, tf_random_seed=tf_random_seed
        )

    is_chief = True
    master = ""
    num_worker_replicas = 1
    num_ps_replicas = 0
    task_id = 0
    task_type = "worker"
    cluster_spec = property(lambda self: {})

    def replace(self, **fields):
        """A copy with some settings changed."""
        copy = RunConfig()
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(_checked(fields))
        return copy
