"""Labs for the tests, and what they leave on the machine."""

import os
import pathlib
import subprocess

import pytest
from ranks import RONDO, ROOT, wait_until

LAB = ROOT / "lab" / "lab"

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="network namespaces need root"
)


def lab(*arguments, check=True):
    done = subprocess.run(
        [LAB, *arguments],
        env=dict(os.environ, LAB_RONDO=str(RONDO)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def start(name, place, *command, **popen):
    """Runs it on a host of the lab, on all, or as a list says."""
    place = place if isinstance(place, list) else [place]
    return subprocess.Popen(
        [LAB, "run", "--name", name, *place, "--", *command],
        stdout=subprocess.PIPE,
        text=True,
        **popen,
    )


def traces(name):
    """What a lab of this name has left on the machine."""
    left = [str(p) for p in pathlib.Path("/run/netns").glob(f"rondo-{name}-*")]
    left += map(str, pathlib.Path("/run/rondo-lab").glob(name))
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"rondo-lab/{name}/".encode() in (process / "cmdline").read_bytes():
                left.append(str(process))
        except OSError:
            continue
    return left


def commands_in(name):
    """The command lines of what was started for a lab, on its hosts or by `with`."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            if f"LAB_NAME={name}".encode() in variables:
                words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                found.append([os.fsdecode(word) for word in words])
        except OSError:
            continue
    return found


def gone(name):
    """Waits until there is no lab of this name, and nothing that it was for."""
    wait_until(lambda: not traces(name), 20, lambda: str(traces(name)))
    wait_until(lambda: not commands_in(name), 20, lambda: str(commands_in(name)))
