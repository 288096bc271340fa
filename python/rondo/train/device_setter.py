"""replica_device_setter: variables on parameter servers, the rest on a worker."""

from ..errors import InvalidArgumentError
from .cluster_spec import ClusterSpec

# What holds state between steps, and so belongs to a parameter server.
STANDARD_PS_OPS = ("Variable",)


class _RoundRobin:
    """One server after another."""

    def __init__(self, num_tasks):
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op):
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


class GreedyLoadBalancingStrategy:
    """Each variable on the server that has least so far, by load_fn(op)."""

    def __init__(self, num_tasks, load_fn):
        self._loads = [0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op):
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op):
    """The bytes of a variable, for GreedyLoadBalancingStrategy."""
    if len(op.outputs) != 1:
        raise InvalidArgumentError(f'"{op.name}" is not a variable: no one output')
    output = op.outputs[0]
    count = output.shape.num_elements()
    if count is None:
        raise InvalidArgumentError(
            f'"{op.name}" of shape {output.shape} has no known number of bytes'
        )
    return count * output.dtype.size


def replica_device_setter(
    ps_tasks=0,
    ps_device="/job:ps",
    worker_device="/job:worker",
    merge_devices=True,
    cluster=None,
    ps_ops=None,
    ps_strategy=None,
):
    """What rondo.device takes to put variables onto parameter servers.

        with rondo.device(replica_device_setter(cluster=cluster)):
            ...

    `cluster` says how many servers there are, or ps_tasks; None comes back where
    there is none. `ps_strategy(op)` gives the number of a server: one after
    another, or as GreedyLoadBalancingStrategy(n, byte_size_load_fn) chooses. All
    other operations are on `worker_device`. Without merge_devices, what asks for a
    device within is left alone.
    """
    if cluster is not None:
        if not isinstance(cluster, ClusterSpec):
            cluster = ClusterSpec(cluster)
        job = _field(ps_device, "job")
        tasks = cluster.as_dict().get(job)
        if not tasks:
            return None
        ps_tasks = len(tasks)
    if ps_tasks == 0:
        return None
    ps_ops = STANDARD_PS_OPS if ps_ops is None else tuple(ps_ops)
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise InvalidArgumentError(
            f"replica_device_setter: ps_strategy is {strategy!r}; expected a function "
            "of an operation that gives the number of a server"
        )
    placed = {}

    def choose(op):
        if op.device and not merge_devices:
            return ""
        # Whatever reads or changes a variable is where the variable is.
        name = op._node.attrs.get("variable") or op.name
        if name in placed:
            return placed[name]
        if op.type not in ps_ops:
            return worker_device or ""
        placed[name] = f"{ps_device}/task:{strategy(op)}" if ps_device else ""
        return placed[name]

    return choose


def _field(device, what):
    for part in (device or "").split("/"):
        key, _, value = part.partition(":")
        if key == what:
            return value
    return None
