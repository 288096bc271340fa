"""Workers that do not wait for each other learn as well as those that do, on real
images: the same accuracy within a point."""

import pytest
from trainings import accuracy, rondo_train

# The rate falls to 0, so that the last updates, which come in any order, say little:
# trainings differ by a third of a point then. Where every other push is lost, they
# are more than a point behind.
LEARNING = ["--optimizer", "adam", "--lr", 0.0005, "--decay", "cosine"]
LEARNING += ["--steps", 400, "--batch", 128]


def learned(strategy):
    options = ["-n", 2, "--servers", 1, "--strategy", strategy, *LEARNING]
    return accuracy(rondo_train("mlp", *options, data="fashion-mnist", timeout=115))


@pytest.fixture(scope="module")
def in_step():
    return learned("ps")


def test_workers_in_step_learn(in_step):
    assert in_step > 85


@pytest.mark.parametrize("strategy", ["ps-async", "ssp"])
def test_workers_out_of_step_reach_their_accuracy(strategy, in_step):
    assert learned(strategy) == pytest.approx(in_step, abs=1)
