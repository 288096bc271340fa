"""Ranks for tests: as threads of this process, and as processes."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import graph_ops
import pytest

import rondo
from rondo import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What a shell starts in the background ignores Ctrl-C, and so would the programs
# that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def spawn():
    """spawn(n, body) runs body(comm) on n threads; the results by rank."""

    def run(n, body, store=None, **options):
        store = store or rondo.MemoryStore()
        options = {"timeout": 30, "connect_timeout": 30, **options}
        results, failures = [None] * n, []

        def rank(r):
            try:
                with rondo.Communicator.connect(store, r, n, **options) as comm:
                    results[r] = body(comm)
            except BaseException as e:  # noqa: B036  shown by the test's thread
                failures.append((r, e))

        threads = [threading.Thread(target=rank, args=(r,)) for r in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
            assert not t.is_alive(), "a rank hangs"
        if failures:
            raise AssertionError(f"rank {failures[0][0]} failed") from failures[0][1]
        return results

    return run


class Job:
    """`rondo run` of a program given as text."""

    def __init__(self, n, program, tmp_path, *options):
        worker = tmp_path / "worker.py"
        worker.write_text(program)
        command = os.environ.get("RONDO_BIN", str(ROOT / "build" / "rondo"))
        self.process = subprocess.Popen(
            [command, "run", "-n", str(n), *options, "--", sys.executable, str(worker)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self):
        return self.process.stdout.readline().strip()

    def finish(self, timeout=60):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            raise
        return self.process.returncode, out, err


@pytest.fixture
def job(tmp_path):
    jobs = []

    def start(n, program, *options):
        jobs.append(Job(n, program, tmp_path, *options))
        return jobs[-1]

    yield start
    for j in jobs:
        if j.process.poll() is None:
            j.process.terminate()
            j.process.communicate()


@pytest.fixture
def free_url():
    """Where nobody serves a store."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def new_graph():
    """A default graph of the test's own."""
    rondo.reset_default_graph()


@pytest.fixture
def graph():
    """A graph that is the default one until the test ends."""
    with rondo.Graph().as_default() as made:
        yield made


@pytest.fixture
def path(tmp_path):
    """Where a test saves its checkpoints."""
    return str(tmp_path / "model")


WHOLE_SUITE = pytest.StashKey[bool]()


def pytest_collection_modifyitems(config, items):
    """What looks back at all other tests comes last."""
    items.sort(key=lambda item: item.path.name == "coverage_test.py")
    here = pathlib.Path(__file__).parent
    files = {*here.glob("*_test.py"), *here.glob("test_*.py")}
    option = config.option
    config.stash[WHOLE_SUITE] = files <= {item.path for item in items} and not (
        option.keyword
        or option.markexpr
        or option.deselect
        or getattr(option, "lf", False)
        or any("::" in arg for arg in config.args)
    )


@pytest.fixture
def whole_suite(request):
    """Whether all tests run, not some of them."""
    return request.config.stash[WHOLE_SUITE]


@pytest.fixture(autouse=True, scope="session")
def note_stateful_operations():
    """What reads or changes state, waits or writes has no array to compare: a
    test that runs it counts."""
    run = rondo.Session.run

    def noting(self, *args, **kwargs):
        result = run(self, *args, **kwargs)
        for node in self.graph._core.nodes:
            if _core.operation(node.op)["stateful"]:
                graph_ops.compared_ops.add(node.op)
        return result

    rondo.Session.run = noting
    yield
    rondo.Session.run = run
