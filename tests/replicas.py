"""Trainings of real processes: parameter servers, and workers that stop where a
test tells them to (replica_program.py)."""

import json
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from background import Background
from cluster_tasks import PATIENCE, Cluster
from ranks import wait_until

import rondo as rd

PROGRAM = pathlib.Path(__file__).with_name("replica_program.py")
SECONDS = 60


class Replica(Background):
    """A worker's process, and what it said."""

    def __init__(self, training, task, stops, options):
        self.task = task
        self.training = training
        out = training.folder / f"replica{task}-{len(training.replicas)}"
        command = [sys.executable, PROGRAM, "--task", task, "--stops", stops]
        command += ["--cluster", json.dumps(training.cluster.addresses)]
        command += ["--folder", training.checkpoints, *options]
        env = {"RONDO_CONNECT_TIMEOUT": str(SECONDS), "RONDO_PATIENCE": str(PATIENCE)}
        super().__init__(out, command, stdin=subprocess.PIPE, **env)

    def said(self, pattern):
        """All that it said so, once it has."""

        def look():
            found = re.findall(pattern, self.text)
            assert found or self.process.poll() is None, self.training
            return found

        return wait_until(look, SECONDS, lambda: f"no {pattern}:\n{self.training}")

    def reaches(self, place):
        """The step at which it is there."""
        return int(self.said(rf"at {place} (\d+)")[0])

    def restored(self):
        """The steps of the checkpoints that it restored."""
        found = re.findall(r"Restoring parameters from \S+-(\d+)", self.text)
        return [int(step) for step in found]

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def ends(self):
        """It trains to the end."""
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pytest.fail(f"replica {self.task} goes on:\n{self.training}")
        assert self.process.returncode == 0, self.training

    def learns(self):
        """It trains to the end, and its loss is small."""
        self.ends()
        loss = re.search(r"done at \d+ with loss (\S+)", self.text)[1]
        assert float(loss) < 0.01, self.training


class Training:
    """A parameter server and workers, which share a folder of checkpoints."""

    def __init__(self, folder, workers=2, last=60, **options):
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.cluster = Cluster(folder, 1, workers, only=("ps",))
        self.options = ["--last", last]
        for name, value in options.items():
            self.options += [f"--{name}", *([] if value is True else [value])]
        self.replicas = []

    def start(self, task, **stops):
        """A worker that stops at these places, at these steps."""
        self.replicas.append(Replica(self, task, json.dumps(stops), self.options))
        return self.replicas[-1]

    def kill_server(self):
        self.cluster["ps", 0].end()

    def start_server(self):
        self.cluster.start("ps", 0)

    def saved(self):
        """The step of the latest checkpoint; 0 without one."""
        path = rd.train.latest_checkpoint(self.checkpoints)
        return int(path.rsplit("-", 1)[1]) if path else 0

    def end(self):
        for replica in self.replicas:
            if replica.process.poll() is None:
                replica.signal(signal.SIGCONT)
                replica.kill()
        self.cluster.end()

    def __str__(self):
        return "\n".join(
            f"--- replica {r.task} ({r.process.poll()})\n{r.text}"
            for r in self.replicas
        )
