"""The command line of `rondo train`: options, files of options, and what is wrong
with them."""

import pytest
from ranks import rondo_run
from trainings import command, rondo_train


def test_options_from_a_file_and_event_files(tmp_path):
    config = tmp_path / "config"
    config.write_text("steps = 4  # few\nbatch = 64\noptimizer = sgd\n")
    logs = tmp_path / "logs"
    done = rondo_train("mlp", "--config", config, "--logdir", logs, "--speedup")
    # The command line counts more.
    assert "batch 16" in done.stdout and "step 4/4" in done.stdout
    assert "speed-up: " in done.stdout
    assert f"summary: {logs}" in done.stdout
    assert [x for x in logs.iterdir() if "tfevents" in x.name]
    config.write_text("step = 4\n")
    done = rondo_train("mlp", "--config", config)
    assert done.returncode == 2 and 'there is no option "step"' in done.stderr


def test_a_job_of_another_launcher(tmp_path):
    done = rondo_run("-n", 2, "--", *command("mlp", "--steps", 2))
    assert done.returncode == 0, done.stderr
    assert "[0] step 2/2" in done.stdout and "2 workers (ring" in done.stdout


@pytest.mark.parametrize(
    ("model", "options", "code", "said"),
    [
        ("lent", [], 2, 'no model "lent"; there are mlp, lenet'),
        ("mlp", ["--strategy", "rign"], 2, "there are single, ring, allreduce"),
        ("mlp", ["--strategy", "ps"], 2, "ps --servers 0: ps, ps-async and ssp take"),
        ("mlp", ["-n", 3], 2, "must be a multiple of -n, 3"),
        ("mlp", ["--backup", 1], 2, "--backup 1: only the strategy ps has"),
        ("mlp", ["--restart-servers", 1], 2, "the job has no servers; add --servers"),
        ("mlp", ["-n", 0], 2, "-n 0: expected 1 to"),
        ("mlp", ["--trace-steps", "1:2"], 2, "--trace-steps needs --trace FILE"),
        ("mlp", ["--resume"], 2, "--resume needs --checkpoint"),
        ("mlp", ["--batch", 8192], 1, "has only 4096 examples"),
    ],
)
def test_bad_input_is_told_what_to_change(model, options, code, said):
    done = rondo_train(model, *options)
    # 2: found before there were workers; 1: by one of them.
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
