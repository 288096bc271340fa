"""Jobs that have servers beside their ranks: what they print, and who they are."""

import pathlib
import re
import subprocess
import sys

from ranks import RONDO, clean_env, rondo_run, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
PYTHON = [sys.executable, EXAMPLES / "train_ring.py"]


def losses(ranks, *program, options=()):
    """What rank 0 prints after each step."""
    done = rondo_run("-n", ranks, "--no-prefix", *options, "--", *program, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^step \d+: loss ([0-9.]+)$", done.stdout, re.M)
    return [float(x) for x in found]


def processes():
    """{pid: (its parent's, its command line)}"""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return {int(pid): (int(parent), args) for pid, parent, args in rows}


def servers_of(job):
    """The pids of its parameter servers."""
    listed = processes()

    def ours(pid):
        while pid in listed and pid != job:
            pid = listed[pid][0]
        return pid == job

    pattern = re.compile(r" parameter-server( --log)?$")
    named = [pid for pid, (_, args) in listed.items() if pattern.search(args)]
    return sorted(pid for pid in named if ours(pid))


WORKER = """
import os, sys
import numpy as np
import rondo as rd

strategy = rd.train.Strategy.from_env()
x = rd.placeholder(rd.float32, [None, 4])
rate = rd.placeholder(rd.float32, [])
w = rd.get_variable("w", [4, 64])  # some of it on each server
loss = rd.reduce_mean(rd.square(rd.matmul(x, w)))
opt = strategy.distribute(rd.train.GradientDescentOptimizer(rate))
train_op = opt.minimize(loss)
session = rd.Session()
session.run(strategy.initializer())
print("ready", strategy.rank, os.getpid(), flush=True)
try:
    while True:
        session.run(train_op, {x: np.ones([2, 4], np.float32), rate: 0.1})
except rd.Error as e:
    print("failed", type(e).__name__, e, flush=True)
    sys.exit(3)
"""


class ServedJob:
    """Three ranks and two servers that train until somebody is lost."""

    def __init__(self, folder, strategy):
        program = folder / "worker.py"
        program.write_text(WORKER)
        self._out = folder / "out"
        options = ["-n", "3", "--servers", "2", "--strategy", strategy]
        with open(self._out, "wb") as file:
            self.process = subprocess.Popen(
                [RONDO, "run", *options, "--no-prefix", "--grace", "20"]
                + ["--", sys.executable, program],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=clean_env(),
            )

    @property
    def text(self):
        return self._out.read_text()

    def ranks(self):
        """Their pids, once all are ready."""
        pattern = r"^ready (\d) (\d+)$"
        look = lambda: len(re.findall(pattern, self.text, re.M)) == 3  # noqa: E731
        wait_until(look, 60, lambda: self.text)
        return {int(r): int(p) for r, p in re.findall(pattern, self.text, re.M)}

    def servers(self):
        return servers_of(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
