"""Jobs that have servers beside their ranks: what they print, and who they are."""

import pathlib
import re
import subprocess
import sys

from background import Background
from ranks import RONDO, rondo_run

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


class ServedJob(Background):
    """A job of `rondo run` with two servers."""

    def __init__(self, folder, ranks, strategy, *words, **env):
        command = [RONDO, "run", "-n", ranks, "--servers", 2, "--strategy", strategy]
        command += ["--no-prefix", "--grace", 20]
        super().__init__(folder / "out", [*command, *words], **env)

    def servers(self):
        return servers_of(self.process.pid)


class EndlessJob(ServedJob):
    """Three ranks that train until somebody is lost."""

    def __init__(self, folder, strategy):
        program = folder / "worker.py"
        program.write_text(WORKER)
        command = ["--", sys.executable, program]
        # Also of keys as small as this one servers get some.
        super().__init__(folder, 3, strategy, *command, RONDO_SERVER_SHARE="0.5")

    def ranks(self):
        """Their pids, once all are ready."""
        pattern = r"^ready (\d) (\d+)$"
        self.wait_for(lambda: len(re.findall(pattern, self.text, re.M)) == 3)
        return {int(r): int(p) for r, p in re.findall(pattern, self.text, re.M)}
