"""Workers that do not wait for each other learn as well as those that do, on real
images: the same accuracy within a point."""

import pathlib
import re
import subprocess

import pytest
from ranks import RONDO, clean_env

FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def accuracy(strategy, steps):
    options = ["--data", "fashion-mnist", "-n", 2, "--strategy", strategy]
    options += ["--servers", 1, "--steps", steps, "--batch", 128, "--lr", 0.1]
    # To 0 at the end, so that the last updates, which come in any order, say little.
    options += ["--optimizer", "sgd", "--decay", "cosine"]
    done = subprocess.run(
        [str(word) for word in [RONDO, "train", "mlp", *options]],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=clean_env(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return float(re.search(r"^test accuracy: ([0-9.]+) %$", done.stdout, re.M)[1])


@pytest.mark.skipif(not FASHION_MNIST.exists(), reason="needs dataset-fashion-mnist")
def test_asynchronous_strategies_reach_the_accuracy_of_the_synchronous():
    together = accuracy("ps", 400)
    assert together > 80
    for strategy in ("ps-async", "ssp"):
        assert accuracy(strategy, 400) == pytest.approx(together, abs=1), strategy
