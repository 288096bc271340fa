"""`rondo run` for tests, and what they ask about its processes.

The command under test is $RONDO_BIN, or build/rondo.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_rondo():
    named = os.environ.get("RONDO_BIN")
    path = pathlib.Path(named) if named else ROOT / "build/rondo"
    if path.is_file():
        return str(path.resolve())
    pytest.exit("there is no rondo command; make build, or set RONDO_BIN", 2)


RONDO = find_rondo()


def clean_env(**more):
    """This environment, as if no job were around it."""
    starters = ("RONDO_", "OMPI_", "PMI_", "SLURM_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(starters)}
    return {**env, **more}


def run(*args, timeout=30, **options):
    """Runs `rondo run ARGS` to its end; the output is bytes."""
    options.setdefault("env", clean_env())
    return subprocess.run(
        [RONDO, "run", *map(str, args)],
        capture_output=True,
        timeout=timeout,
        check=False,
        **options,
    )


def start(*args, **options):
    options.setdefault("env", clean_env())
    return subprocess.Popen(
        [RONDO, "run", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        **options,
    )


def sh(script):
    return ["--", "sh", "-c", script]


def python(script):
    return ["--", sys.executable, "-c", script]


def alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds} s: {what}"
        time.sleep(0.01)


def wait_gone(pids, seconds):
    wait_until(
        lambda: not any(map(alive, pids)),
        seconds,
        f"still running: {[p for p in pids if alive(p)]}",
    )


# A rank that ignores SIGTERM, with a child that does too and that has left for
# a session of its own; both pids are written to $PIDS/RANK.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(100)
    os._exit(0)
path = os.environ["PIDS"] + "/" + os.environ["RONDO_RANK"]
with open(path + ".new", "w") as f: f.write(f"{os.getpid()} {child}")
os.rename(path + ".new", path)
time.sleep(100)
"""


def pids_of(folder, ranks):
    files = [folder / str(r) for r in range(ranks)]
    wait_until(
        lambda: all(f.exists() and f.read_text() for f in files),
        20,
        "the ranks have not started",
    )
    return [int(pid) for f in files for pid in f.read_text().split()]


def state_of(pid):
    """The fields of /proc/PID/stat from the state on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def wait_stuck(pids):
    """Until these processes use no more time: every queue is full, they wait."""
    used = {}

    def stuck():
        before = dict(used)
        used.update({pid: state_of(pid)[11:13] for pid in pids})
        time.sleep(0.1)
        return used == before

    wait_until(stuck, 20, "the ranks go on writing")


def variables(output):
    """{rank: {name: value}} of prefixed `env` lines."""
    ranks = {}
    for line in output.decode().splitlines():
        rank, name, value = re.fullmatch(r"\[(\d+)\] (\w+)=(.*)", line).groups()
        ranks.setdefault(int(rank), {})[name] = value
    return ranks
