"""RunConfig: where and how often an estimator saves."""

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
# Of clusters and accelerators, which a single process has not.
_IGNORED = {"train_distribute", "device_fn", "protocol", "eval_distribute"}


class RunConfig:
    """Settings of an estimator."""

    def __init__(self, model_dir=None, tf_random_seed=None, **fields):
        fields = {k: v for k, v in fields.items() if k not in _IGNORED}
        unknown = set(fields) - set(_FIELDS)
        if unknown:
            raise InvalidArgumentError(f"RunConfig: there is no {sorted(unknown)}")
        if fields.get("save_checkpoints_steps"):
            fields.setdefault("save_checkpoints_secs", None)
        self.__dict__.update(_FIELDS)
        self.__dict__.update(fields, model_dir=model_dir, tf_random_seed=tf_random_seed)

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
        copy.__dict__.update(fields)
        return copy
