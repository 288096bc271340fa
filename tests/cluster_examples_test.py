"""The programs of examples/cluster, as processes, on a few made-up images."""

import gzip
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from ports import free_port
from ranks import BUILD, clean_env

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples/cluster"


@pytest.fixture
def data(tmp_path):
    """Images that are bright in the row of their label."""
    labels = np.arange(200, dtype=np.uint8) % 10
    images = np.random.default_rng(0).integers(0, 40, (200, 28, 28), np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[2 * label + 2 : 2 * label + 5] = 250
    for name, header, content in (
        ("train-images-idx3-ubyte.gz", 16, images),
        ("train-labels-idx1-ubyte.gz", 8, labels),
    ):
        with gzip.open(tmp_path / name, "wb") as file:
            file.write(bytes(header) + content.tobytes())
    return tmp_path


def start(program, *options):
    return subprocess.Popen(
        [sys.executable, EXAMPLES / program, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_env(RONDO_CONNECT_TIMEOUT="60"),
    )


def start_cpp(program, *arguments):
    return subprocess.Popen(
        [BUILD / "examples" / program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_env(RONDO_CONNECT_TIMEOUT="60"),
    )


@pytest.mark.parametrize("program", ["towers", "stages"])
def test_in_cpp(program, cluster):
    for places in ([], [cluster(ps=1, workers=2).text]):
        seen = losses(start_cpp(program, *places))
        assert seen[-1] < 0.3 * seen[0], seen


@pytest.mark.parametrize("sync", [[], ["sync"]], ids=["async", "sync"])
def test_replicas_in_cpp(sync):
    ps, *workers = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    cluster = f"ps={ps};worker={','.join(workers)}"
    server = start_cpp("replicas", cluster, "ps", 0)
    clients = [
        start_cpp("replicas", cluster, "worker", task, *sync) for task in range(2)
    ]
    try:
        for client in clients:
            # The other one may have trained before this one began.
            seen = losses(client)
            assert seen[-1] < 0.3, seen
        assert server.poll() is None
    finally:
        for process in (server, *clients):
            process.kill()
            process.wait()


def losses(process):
    text, _ = process.communicate(timeout=100)
    assert process.returncode == 0, text
    found = [float(x) for x in re.findall(r"loss ([\d.]+)", text)]
    assert len(found) >= 2, text
    return found


def common(data, steps=60):
    return ["--data", data, "--steps", steps, "--every", 1, "--batch", 16]


@pytest.mark.parametrize("program", ["towers.py", "stages.py"])
def test_on_devices_of_one_process(program, data):
    seen = losses(start(program, *common(data)))
    assert seen[-1] < 0.5, seen


@pytest.mark.parametrize("program", ["towers.py", "stages.py"])
def test_on_a_cluster(program, data, cluster):
    text = cluster(ps=1, workers=2).text
    seen = losses(start(program, *common(data), "--cluster", text))
    assert seen[-1] < 0.5, seen


@pytest.mark.parametrize("sync", [[], ["--sync"]], ids=["async", "sync"])
def test_replicas(data, sync):
    ps, *workers = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    cluster = ["--cluster", f"ps={ps};worker={','.join(workers)}"]
    server = start("replicas.py", *cluster, "--job", "ps")
    try:
        clients = [
            start(
                "replicas.py",
                *cluster,
                *common(data, 100),
                *("--rate", 0.01),
                *("--job", "worker", "--task", task),
                *sync,
            )
            for task in range(2)
        ]
        try:
            for client in clients:
                # Single steps jump when another worker's gradients come late.
                seen = losses(client)
                assert np.median(seen[-10:]) < 0.5, seen
        finally:
            for client in clients:
                client.kill()
                client.wait()
        assert server.poll() is None
    finally:
        server.kill()
        server.wait()
