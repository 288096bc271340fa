"""Server: one task of a cluster, in this process."""

from .. import _core
from ..errors import InvalidArgumentError
from .session import ConfigProto


class Server:
    """A task of a cluster: its devices and variables, and the master of the
    sessions that are made with its `target`.

    `cluster` is a ClusterSpec, or the dict of one. Several processes of one
    cluster need the same RONDO_TOKEN in their environments, unless they all run
    on one host.
    """

    def __init__(
        self,
        server_or_cluster_def,
        job_name=None,
        task_index=None,
        protocol=None,
        config=None,
        start=True,
    ):
        from ..train import ClusterSpec

        if protocol not in (None, "grpc"):
            raise InvalidArgumentError(
                f'protocol: "{protocol}" is not known; there is "grpc"'
            )
        self._spec = ClusterSpec(server_or_cluster_def)
        self._job = self._only(job_name, self._spec.jobs, "job_name")
        tasks = self._spec.task_indices(self._job)
        self._task = self._only(task_index, tasks, "task_index")
        self._config = config or ConfigProto()
        self._server = None
        if start:
            self.start()

    @staticmethod
    def _only(given, choices, name):
        if given is not None:
            return given
        if len(choices) != 1:
            raise InvalidArgumentError(f"{name}: give one of {choices}")
        return choices[0]

    @classmethod
    def create_local_server(cls, config=None, start=True):
        """The only task of a cluster of this process."""
        local = {"local": ["localhost:0"]}
        return cls(local, protocol="grpc", config=config, start=start)

    def start(self):
        """Serves; does nothing where it does so already."""
        if self._server is not None:
            return
        self._server = _core.start_server(
            {
                job: {
                    task: self._spec.task_address(job, task)
                    for task in self._spec.task_indices(job)
                }
                for job in self._spec.jobs
            },
            self._job,
            self._task,
            cpus=self._config._devices().get("cpu", 1),
            inter_op_threads=self._config.inter_op_parallelism_threads,
            intra_op_threads=self._config.intra_op_parallelism_threads,
        )

    def join(self):
        """Waits until the server is stopped; a parameter server's whole program."""
        self._started().join()

    def stop(self):
        """Ends all sessions and steps; the other tasks see this one as lost."""
        self._started().stop()

    @property
    def target(self):
        """What rondo.Session takes to run on the cluster: "grpc://host:port"."""
        return self._started().target

    @property
    def server_def(self):
        return self._spec

    def _started(self):
        if self._server is None:
            raise InvalidArgumentError("the server was not started: call start()")
        return self._server
