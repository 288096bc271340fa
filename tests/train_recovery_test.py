"""`rondo train` that is interrupted, or fails: what it leaves, and how it goes on."""

import os
import re
import shlex
import signal
import subprocess

import pytest
from ranks import clean_env
from trainings import Training, command, losses, rondo_train


def test_a_resumed_training_is_the_one_that_was_not_interrupted(tmp_path):
    options = ["--optimizer", "adam", "--checkpoint"]
    whole = losses(rondo_train("mlp", "--steps", 6, *options, tmp_path / "a", "-n", 2))
    folder = tmp_path / "b"
    rondo_train("mlp", "--steps", 3, *options, folder, "-n", 2)
    # On another number of workers.
    rest = rondo_train("mlp", "--steps", 6, *options, folder, "--resume", "-n", 4)
    assert "model-3 at step 3" in rest.stdout
    assert losses(rest) == pytest.approx({s: whole[s] for s in (4, 5, 6)}, abs=2e-4)
    assert (folder / "model-6.safetensors").exists()

    # What was not asked for is not done to a folder that is in use.
    again = rondo_train("mlp", "--steps", 6, *options, folder)
    assert again.returncode == 1
    assert "--resume goes on from it" in again.stderr
    other = rondo_train("mlp", *options, folder, "--resume", "--batch", 32)
    assert other.returncode == 1
    assert "a training with --batch 16 --seed 1" in other.stderr


def test_a_training_goes_over_to_servers_and_back(tmp_path):
    options = ["-n", 2, "--optimizer", "adam", "--checkpoint"]
    whole = losses(rondo_train("mlp", "--steps", 6, *options, tmp_path / "a"))
    folder = tmp_path / "b"
    curve = {}
    for steps, strategy in (
        (2, ["ring"]),
        (4, ["ps", "--servers", 1]),
        (6, ["hybrid", "--servers", 1]),
    ):
        more = ["--resume", "--steps", steps, "--strategy", *strategy]
        env = {"RONDO_SERVER_SHARE": "0.5"}
        curve |= losses(rondo_train("mlp", *options, folder, *more, env=env))
    # What Adam keeps went along: without it the third step is another.
    assert curve == pytest.approx(whole, abs=2e-4)


@pytest.mark.parametrize("strategy", ["ring", "ps --servers 1"])
def test_ctrl_c_leaves_a_checkpoint(tmp_path, strategy):
    folder = tmp_path / "run"
    options = ["-n", 2, "--checkpoint", folder, "--strategy", *strategy.split()]
    with Training(tmp_path / "out", *options) as job:
        job.wait_step(2)
        job.process.send_signal(signal.SIGINT)
        assert job.process.wait(60) == 128 + signal.SIGINT, job.text
    step = int(re.search(r"stopped at step (\d+) of", job.text)[1])
    assert "--resume goes on" in job.text
    more = ["--checkpoint", folder, "--resume", "--steps", step + 1]
    assert list(losses(rondo_train("mlp", *more))) == [step + 1]


def test_a_killed_worker_is_named_and_the_checkpoint_stays(tmp_path):
    folder = tmp_path / "run"
    options = ["-n", 3, "--batch", 24, "--checkpoint", folder, "--save-every", 2]
    with Training(tmp_path / "out", *options) as job:
        job.wait_step(5)
        os.kill(job.rank(2), signal.SIGKILL)
        assert job.process.wait(60) == 128 + signal.SIGKILL, job.text
    assert re.search(r"rank 2 \(pid \d+\) was killed", job.text), job.text
    assert re.search(r"rank 2 .* was lost", job.text), job.text
    assert f"--resume goes on from the last checkpoint in {folder}" in job.text
    last = max(int(x.stem[6:]) for x in folder.glob("model-*.safetensors"))
    # It goes on as if nothing had been.
    more = ["-n", 3, "--batch", 24, "--steps", last + 3]
    rest = losses(rondo_train("mlp", *more, "--checkpoint", folder, "--resume"))
    whole = losses(rondo_train("mlp", *more))
    assert list(rest) == [last + 1, last + 2, last + 3]
    assert rest == pytest.approx({step: whole[step] for step in rest}, abs=2e-4)


@pytest.mark.parametrize("strategy", ["ring", "ps-async --servers 1"])
def test_a_loss_that_is_no_number_ends_the_training(strategy):
    options = ["-n", 2, "--steps", 50, "--strategy", *strategy.split()]
    done = rondo_train("mlp", "--lr", 1e8, "--optimizer", "sgd", *options)
    assert done.returncode == 1
    said = r"the loss is no number at step \d+: training stops; NaN or "
    said += r'infinity comes from MatMul "\w+" of \S+ mlp/dense\d/kernel; .*--lr'
    assert re.search(said, done.stderr), done.stderr


def test_a_checkpoint_that_cannot_be_written_does_not_end_it(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "run"
    done = rondo_train("mlp", "--steps", 2, "--checkpoint", folder)
    assert done.returncode != 0
    assert "no checkpoint of step 2: cannot make the folder" in done.stdout
    assert "test accuracy" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount needs root")
def test_a_full_disk_leaves_the_checkpoints_before(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    # Room for two checkpoints of 7.5 MB.
    script = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", folder]
    words = ["--optimizer", "sgd", "--save-every", 1, "--checkpoint", folder]
    trainings = [
        command("mlp", "--steps", 4, *words),
        command("mlp", "--steps", 3, *words, "--resume"),
    ]
    lines = [shlex.join(map(str, line)) for line in [script, *trainings]]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=clean_env(),
    )
    for step in (3, 4):
        said = rf"^no checkpoint of step {step}: .*No space left .*is of step 2$"
        assert re.search(said, done.stdout, re.M), done.stdout + done.stderr
    assert re.search(r"^step 4/4, ", done.stdout, re.M), done.stdout
    assert "model-2 at step 2" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1, done.stderr
