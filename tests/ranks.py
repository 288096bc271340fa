"""Jobs of real processes for the tests: `worker` (worker.cc) with RONDO_* set by
hand, or under `rondo run`.

The build is $RONDO_BUILD, or build/.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
WORKER = BUILD / "tests" / "worker"
RONDO = BUILD / "rondo"
HOST = socket.gethostname()

if not WORKER.is_file() or not RONDO.is_file():
    pytest.exit(f"{BUILD} is not built; make build, or set RONDO_BUILD", 2)


def clean_env(**more):
    """This environment, as if no job were around it."""
    starters = ("RONDO_", "OMPI_", "PMI_", "SLURM_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(starters)}
    return {**env, **more}


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"after {seconds} s: {what()}"
        time.sleep(0.005)
    return found


def listening(pid):
    """The addresses on which this process listens, as (host, port)."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(fd)):
                inodes.add(match[1])
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines():
            fields = line.split()
            if fields[3] != "0A" or fields[9] not in inodes:
                continue
            host, port = fields[1].split(":")
            words = [host[i : i + 8] for i in range(0, len(host), 8)]
            packed = b"".join(struct.pack("=I", int(w, 16)) for w in words)
            found.append((socket.inet_ntop(family, packed), int(port, 16)))
    # A link-local address needs an interface besides.
    return [(host, port) for host, port in found if not host.startswith("fe80")]


@dataclasses.dataclass
class Failure:
    when: float  # on the monotonic clock
    code: str
    text: str


class Rank:
    def __init__(self, number, process, out):
        self.number = number
        self.process = process
        self.out = out

    @property
    def pid(self):
        return self.process.pid

    @property
    def text(self):
        return self.out.read_text()

    @property
    def failure(self):
        codes = "invalid argument|mismatch|peer lost|time-out|cancelled"
        codes += "|unavailable|permission|resource|internal"
        found = re.search(rf"^error ([0-9.]+) ({codes}) (.*)$", self.text, re.M)
        return Failure(float(found[1]), found[2], found[3]) if found else None

    def said(self, word):
        return word in self.text.splitlines()

    def go(self):
        """Ends an await."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def signal(self, number):
        os.kill(self.process.pid, number)


class Job:
    """Ranks of one job, by number."""

    def __init__(self, folder):
        self.folder = folder
        self.ranks = []

    def __getitem__(self, number):
        return next(r for r in self.ranks if r.number == number)

    def others(self, *but):
        return [r for r in self.ranks if r.number not in but]

    def add(self, number, size, steps, env=None, wrap=(), store=None):
        out = self.folder / f"rank{number}"
        settings = {
            "RONDO_RANK": number,
            "RONDO_WORLD_SIZE": size,
            "RONDO_STORE": store or f"file://{self.folder}/store",
            "RONDO_CONNECT_TIMEOUT": 20,
            "RONDO_TIMEOUT": 20,
            # Nothing leaves this machine; in a namespace the test's own choice.
            "RONDO_INTERFACE": "" if wrap else "lo",
            **(env or {}),
        }
        with open(out, "wb") as file:
            process = subprocess.Popen(
                [*map(str, wrap), WORKER, *map(str, steps)],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=clean_env(**{k: str(v) for k, v in settings.items()}),
            )
        self.ranks.append(Rank(number, process, out))

    def start(self, size, *steps, each=None, skip=(), **options):
        """Ranks 0..size-1 do `steps`, those in `each` what it says there."""
        for number in range(size):
            if number not in skip:
                self.add(number, size, (each or {}).get(number, steps), **options)
        return self

    def wait_said(self, word, ranks=None, seconds=20):
        ranks = self.ranks if ranks is None else ranks
        wait_until(
            lambda: all(r.said(word) for r in ranks),
            seconds,
            lambda: f"not everybody said {word}:\n{self}",
        )

    def wait(self, ranks=None, seconds=30):
        """Until these ranks have ended; they must within `seconds`."""
        ranks = self.ranks if ranks is None else ranks
        end = time.monotonic() + seconds
        for rank in ranks:
            try:
                rank.process.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                pytest.fail(f"rank {rank.number} is still running:\n{self}")
        return self

    def expect_done(self, seconds=30):
        self.wait(seconds=seconds)
        for rank in self.ranks:
            assert rank.process.returncode == 0 and rank.said("done"), str(self)
            assert "wrong" not in rank.text, str(self)

    def expect_failures(self, code, *texts, ranks=None, seconds=30):
        """Each of these ranks ended with an error of `code` that says `texts`."""
        ranks = self.ranks if ranks is None else ranks
        self.wait(ranks, seconds)
        for rank in ranks:
            assert rank.failure is not None, f"rank {rank.number}:\n{self}"
            assert rank.failure.code == code, f"rank {rank.number}:\n{self}"
            for text in texts:
                assert re.search(text, rank.failure.text), f"{text} in\n{self}"

    def __str__(self):
        return "\n".join(
            f"--- rank {r.number} (pid {r.pid}, {r.process.poll()})\n{r.text}"
            for r in self.ranks
        )

    def end(self):
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.signal(signal.SIGKILL)
            rank.process.wait()
            rank.process.stdin.close()


def rondo_run(*args, timeout=60, env=None, wrap=(), **options):
    """`rondo run ARGS` to its end, with its output as text."""
    return subprocess.run(
        [*map(str, wrap), RONDO, "run", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=clean_env(**(env or {})),
        **options,
    )


def mpirun(mpi, n, *program, **env):
    """`program` as n ranks under the mpirun of openmpi or mpich, to its end."""
    command = {
        "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
        "mpich": ["mpirun.mpich"],
    }[mpi]
    try:
        return subprocess.run(
            [*command, "-n", str(n), *program],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=clean_env(HOME=os.environ.get("HOME", "/"), **env),
        )
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not installed")


def expect_done(done, ranks):
    """`ranks` workers under a launcher did everything, and right."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert len(re.findall(r"\bdone$", done.stdout, re.M)) == ranks, said
    assert "wrong" not in done.stdout, said
