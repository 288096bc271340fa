"""`rondo train` with each strategy: the same training with any number of workers,
with servers or not, and however gradients travel."""

import re

import pytest
from ranks import rondo_run
from trainings import accuracy, command, losses, rondo_train


@pytest.mark.parametrize("model", ["mlp", "lenet"])
def test_any_number_of_workers_has_the_same_curve(model):
    alone = rondo_train(model, "--steps", 5)
    curve = losses(alone)
    assert sorted(curve) == [1, 2, 3, 4, 5] and curve[5] < curve[1]
    for workers in (2, 4):
        together = rondo_train(model, "--steps", 5, "-n", workers, "--strategy", "ring")
        assert losses(together) == pytest.approx(curve, abs=2e-4), workers
        assert accuracy(together) == pytest.approx(accuracy(alone), abs=1)
        assert f"{workers} workers (ring" in together.stdout


def test_workers_with_servers_in_step_have_the_same_curve():
    curve = losses(rondo_train("lenet", "--steps", 4))
    for strategy in ("ps", "hybrid"):
        options = ["--steps", 4, "-n", 2, "--strategy", strategy, "--servers", 2]
        # Two workers gain nothing by servers of a hybrid, which has none unless told.
        served = rondo_train("lenet", *options, env={"RONDO_SERVER_SHARE": "0.5"})
        assert losses(served) == pytest.approx(curve, abs=2e-4)
        assert f"2 workers ({strategy}" in served.stdout


def test_gradients_travel_to_servers_as_bf16():
    options = ["--steps", 5, "-n", 2, "--strategy", "ps", "--servers", 1]
    whole = losses(rondo_train("mlp", *options))
    half = losses(rondo_train("mlp", *options, "--wire", "bf16"))
    assert half == pytest.approx(whole, rel=0.01) and half != whole


def test_workers_that_are_late_are_not_waited_for():
    # Epochs end: workers meet, the late ones too, and go on.
    options = ["-n", 3, "--batch", 768, "--strategy", "ps", "--servers", 1]
    done = rondo_train("mlp", *options, "--backup", 1, "--epochs", 3)
    assert sorted(losses(done)) == list(range(1, 16))
    assert len(re.findall(r"^epoch \d, step", done.stdout, re.M)) == 3
    # What one step in five of them teaches.
    assert accuracy(done) > 20


@pytest.mark.parametrize("strategy", ["single", "ring", "hybrid", "ps-async"])
def test_nobody_ignores_backup_workers(strategy):
    options = ["--steps", 2, "--strategy", strategy]
    options += ["-n", 1 if strategy == "single" else 2]
    options += ["--servers", 1] if strategy in ("hybrid", "ps-async") else []
    done = rondo_train("mlp", *options, env={"RONDO_BACKUP": "1"})
    assert done.returncode == 2
    assert "RONDO_BACKUP=1: only the strategy ps has backup workers" in done.stderr
    # The command line counts more than the environment.
    done = rondo_train("mlp", *options, "--backup", 0, env={"RONDO_BACKUP": "1"})
    assert done.returncode == 0, done.stderr
    # A worker of a job finds it, too.
    if strategy == "ring":
        words = command("mlp", "--steps", 2)
        done = rondo_run("-n", 2, "--", *words, env={"RONDO_BACKUP": "1"})
        assert done.returncode == 1
        assert "RONDO_BACKUP=1: only the strategy ps" in done.stderr


def test_gradients_travel_as_factors_where_that_is_less():
    curves = []
    for factors, said in (("auto", "as factors: mlp/dense1/kernel"), ("off", "no ")):
        options = ["--steps", 4, "-n", 2, "--factors", factors]
        done = rondo_train("mlp", *options)
        curves.append(losses(done))
        assert f"MB in a step; {said}" in done.stdout
    assert curves[0] == pytest.approx(curves[1], abs=2e-4)


def test_products_in_bf16_learn_alike(tmp_path):
    whole = ["--precision", "fp32", "--optimizer", "sgd", "--checkpoint"]
    half = ["--precision", "bf16", *whole[2:]]
    curve = losses(rondo_train("lenet", "--steps", 8, *whole, tmp_path / "a"))
    # From the same weights.
    rondo_train("lenet", "--steps", 3, *whole, tmp_path / "b")
    more = ["--resume", "--steps", 8, "-n", 2, "--factors", "on"]
    done = rondo_train("lenet", *half, tmp_path / "b", *more)
    rest = {step: curve[step] for step in range(4, 9)}
    assert losses(done) == pytest.approx(rest, abs=0.02)
    assert losses(done) != rest
    assert "as factors: lenet/dense1/kernel" in done.stdout


def test_buckets_are_tuned_and_the_report_says_how():
    options = ["--steps", 30, "--lr", 0.01, "-n", 2]
    usual = losses(rondo_train("mlp", *options))
    done = rondo_train("mlp", *options, "--tune-buckets")
    assert losses(done) == pytest.approx(usual, abs=1e-5)
    found = re.findall(
        r"^buckets of up to \S+ MiB, \d+ in a step: .*", done.stdout, re.M
    )
    assert len(found) == 1, done.stdout


@pytest.mark.parametrize("travel", ["--factors on", "--tune-buckets"])
def test_how_gradients_travel_must_suit_the_strategy_of_the_environment(travel):
    env = {"RONDO_STRATEGY": "ps"}
    done = rondo_train("mlp", "--steps", 1, "-n", 2, *travel.split(), env=env)
    assert done.returncode == 1
    said = f"RONDO_STRATEGY: {travel} is for --strategy ring or hybrid, not ps"
    assert said in done.stderr, done.stderr


@pytest.fixture(scope="module")
def ring_accuracy():
    return accuracy(rondo_train("mlp", *OUT_OF_STEP, "--strategy", "ring"))


OUT_OF_STEP = ["--steps", 80, "-n", 2, "--batch", 32, "--optimizer", "sgd"]
OUT_OF_STEP += ["--lr", 0.02]


@pytest.mark.parametrize("strategy", ["ps-async", "ssp"])
def test_workers_out_of_step_learn_as_much(strategy, ring_accuracy):
    servers = ["--strategy", strategy, "--servers", 1]
    done = rondo_train("mlp", *OUT_OF_STEP, *servers)
    assert len(losses(done)) == 80
    # A guess is right in 10 %.
    assert ring_accuracy > 95
    assert accuracy(done) == pytest.approx(ring_accuracy, abs=1)


def test_a_strategy_for_one_process_is_refused_in_a_job_of_several():
    words = command("mlp", "--steps", 2)
    done = rondo_run("-n", 2, "--strategy", "single", "--", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "this job has 2 ranks: take ring" in done.stderr
