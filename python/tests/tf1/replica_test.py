"""The distributed replica program, one process for each task."""

import pathlib
import re
import subprocess
import sys

import pytest
from ports import free_port

pytestmark = pytest.mark.timeout(300)
SCRIPT = pathlib.Path(__file__).parent / "scripts" / "mnist_replica.py"


@pytest.fixture
def cluster(mnist, tmp_path):
    """cluster(*flags): what two workers with a parameter server print."""
    processes = []

    def run(*flags):
        ports = [f"localhost:{free_port()}" for _ in range(3)]
        hosts = [f"--ps_hosts={ports[0]}", f"--worker_hosts={','.join(ports[1:])}"]

        def start(job, task):
            log = open(tmp_path / f"{job}{task}.log", "w+")
            process = subprocess.Popen(
                [
                    sys.executable, "-m", "rondo.tf1", str(SCRIPT), *hosts,
                    f"--job_name={job}", f"--task_index={task}",
                    f"--data_dir={mnist}", "--hidden_units=32", *flags,
                ],
                stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path,
            )  # fmt: skip
            processes.append(process)
            return process, log

        server, _ = start("ps", 0)
        workers = [start("worker", i) for i in range(2)]
        texts = []
        for process, log in workers:
            code = process.wait(200)
            log.seek(0)
            texts.append(log.read())
            assert code == 0, texts[-1]
        # The server is there for others still.
        assert server.poll() is None
        return texts

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def number(text, label):
    return float(re.search(rf"^{label}: ([-+0-9.e]+)", text, re.M).group(1))


def test_asynchronous(cluster):
    chief, other = cluster("--train_steps=60")
    assert "Worker 0: Initializing session" in chief
    assert "Worker 1: Waiting for session" in other
    # Both count the same steps.
    assert number(chief, "Local steps") + number(other, "Local steps") <= 64
    for text in (chief, other):
        assert number(text, "Cross entropy") < 1.0


def test_synchronous(cluster):
    # So many that the chief, which could bring all gradients by itself, is still
    # there when the other begins.
    chief, other = cluster("--train_steps=300", "--sync_replicas=true")
    for text in (chief, other):
        assert number(text, "Cross entropy") < 1.0
    # A step takes two gradients, whoever brings them: one that begins late brings
    # fewer. Alone, a worker would need half as many.
    assert number(chief, "Local steps") + number(other, "Local steps") >= 598
