"""`rondo train` with real processes: how tests start it, and what it printed."""

import pathlib
import re
import subprocess

from background import Background
from ranks import RONDO, clean_env
from served_jobs import processes


def command(model, *options, data="synthetic"):
    common = ["--data", data, "--log-every", 1]
    if "--batch" not in options:
        common += ["--batch", 16]
    return [str(x) for x in [RONDO, "train", model, *common, *options]]


def rondo_train(model, *options, env=None, timeout=100, **more):
    """To its end, with its output as text."""
    return subprocess.run(
        command(model, *options, **more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=clean_env(**(env or {})),
    )


def curve(text):
    """Of each step that was printed, the loss as it was."""
    found = re.findall(r"^step (\d+)/\d+, loss ([0-9.]+),", text, re.M)
    return {int(step): loss for step, loss in found}


def losses(done):
    """By step."""
    assert done.returncode == 0, done.stdout + done.stderr
    return {step: float(loss) for step, loss in curve(done.stdout).items()}


def accuracy(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return float(re.search(r"^test accuracy: ([0-9.]+) %$", done.stdout, re.M)[1])


class Training(Background):
    """One that goes on until it is ended."""

    def __init__(self, out, *options, **env):
        super().__init__(out, command("mlp", "--steps", 1000000, *options), **env)

    def wait_step(self, step):
        self.wait_for(lambda: f"step {step}/" in self.text)

    def rank(self, number):
        """The process of a rank."""
        listed = processes()
        wanted = f"RONDO_RANK={number}".encode()
        for pid, (agent, _) in listed.items():
            # The launcher's agent is its parent.
            if listed.get(agent, (0, ""))[0] != self.process.pid:
                continue
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:  # it is gone meanwhile
                continue
            if wanted in environment.split(b"\0"):
                return pid
        raise AssertionError(f"no rank {number}")
