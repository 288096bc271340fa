"""ClusterSpec: which jobs a cluster has, and where their tasks are."""

import json

from ..errors import InvalidArgumentError


class ClusterSpec:
    """Jobs of tasks: {"ps": ["h0:2222"], "worker": ["h1:2222", "h2:2222"]}.

    A job's tasks are a list of addresses, or a dict of task number to address
    where not all are known. `cluster` may be another ClusterSpec, or JSON.
    """

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        if isinstance(cluster, str):
            try:
                cluster = json.loads(cluster)
            except ValueError as e:
                raise InvalidArgumentError(f"ClusterSpec: not JSON: {e}") from None
        if not isinstance(cluster, dict):
            raise InvalidArgumentError(
                f"ClusterSpec: {cluster!r}; expected a dict of job names to lists of "
                'addresses, such as {"worker": ["h1:2222"]}'
            )
        self._jobs = {name: _tasks(name, tasks) for name, tasks in cluster.items()}

    @property
    def jobs(self):
        """The names of the jobs."""
        return sorted(self._jobs)

    def num_tasks(self, job_name):
        return len(self._tasks_of(job_name))

    def task_indices(self, job_name):
        return sorted(self._tasks_of(job_name))

    def task_address(self, job_name, task_index):
        tasks = self._tasks_of(job_name)
        if task_index not in tasks:
            raise InvalidArgumentError(
                f'ClusterSpec: job "{job_name}" has no task {task_index}; it has '
                f"{sorted(tasks)}"
            )
        return tasks[task_index]

    def job_tasks(self, job_name):
        """The addresses by task number; None for those that are not known."""
        tasks = self._tasks_of(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def as_dict(self):
        """{job: [address]}, or {job: {task: address}} where numbers are missing."""
        return {
            job: (
                [tasks[i] for i in sorted(tasks)]
                if sorted(tasks) == list(range(len(tasks)))
                else dict(tasks)
            )
            for job, tasks in self._jobs.items()
        }

    def _tasks_of(self, job_name):
        if job_name not in self._jobs:
            raise InvalidArgumentError(
                f'ClusterSpec: there is no job "{job_name}"; there are '
                f"{', '.join(self.jobs) or 'none'}"
            )
        return self._jobs[job_name]

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        if not isinstance(other, (ClusterSpec, dict)):
            return NotImplemented
        return self._jobs == ClusterSpec(other)._jobs

    def __hash__(self):
        return hash(json.dumps(self.as_dict(), sort_keys=True))

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()!r})"


def _tasks(job, tasks):
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, dict):
        raise InvalidArgumentError(
            f'ClusterSpec: the tasks of job "{job}" are {tasks!r}; expected a list of '
            'addresses such as ["h1:2222"]'
        )
    found = {}
    for number, address in tasks.items():
        if not isinstance(address, str):
            raise InvalidArgumentError(
                f'ClusterSpec: the address of task {number} of job "{job}" is '
                f"{address!r}, not text"
            )
        found[int(number)] = address
    return found
