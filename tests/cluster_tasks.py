"""Clusters of real processes, for tests."""

import contextlib
import os
import signal
import threading

from background import Background
from ports import free_port
from ranks import RONDO

PATIENCE = 4


class Task(Background):
    def __init__(self, cluster, job, index, env):
        self.name = f"/job:{job}/task:{index}"
        self.address = cluster.addresses[job][index]
        self.target = f"grpc://{self.address}"
        command = [RONDO, "server", "--cluster", cluster.text]
        command += ["--job", job, "--task", index, "--lease", 0.2]
        super().__init__(cluster.folder / f"{job}{index}", command, **env)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class Cluster:
    """Tasks by job and index. Those of jobs that are not in `only` are not started:
    programs of the test's are these tasks."""

    def __init__(self, folder, ps, workers, only=("ps", "worker"), **env):
        self.folder = folder
        self.env = {"RONDO_PATIENCE": str(PATIENCE), **env}
        self.addresses = {
            job: [f"127.0.0.1:{free_port()}" for _ in range(count)]
            for job, count in (("ps", ps), ("worker", workers))
        }
        self.text = ";".join(
            f"{job}={','.join(tasks)}" for job, tasks in self.addresses.items()
        )
        self.tasks = {}
        for job in only:
            for index in range(len(self.addresses[job])):
                self.start(job, index)

    def start(self, job, index):
        self.tasks[job, index] = Task(self, job, index, self.env)

    def __getitem__(self, name):
        return self.tasks[name]

    def end(self):
        for task in self.tasks.values():
            task.end()


def run_all(replicas, work):
    """work(replica) for each in a thread of its own; what they raised is raised."""
    failed = []

    def run(replica):
        try:
            work(replica)
        except BaseException as e:
            failed.append(e)
            raise

    threads = [threading.Thread(target=run, args=(r,), daemon=True) for r in replicas]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive(), "a worker goes on"
    if failed:
        raise failed[0]
