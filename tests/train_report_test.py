"""`rondo train` shows what it does: traces, and where the time of each worker went."""

import json
import re
import signal

import pytest
from trainings import Training, losses, rondo_train


def spans(trace, rank, kind):
    """Begin and end of a rank's events of a kind, by name."""
    return {
        e["name"]: (e["ts"], e["ts"] + e["dur"])
        for e in trace
        if e["ph"] == "X" and e["pid"] == rank and e["cat"] == kind
    }


def names_of(trace, kind, rank):
    return [e["args"]["name"] for e in trace if (e["name"], e["pid"]) == (kind, rank)]


def test_one_trace_of_all_workers_by_one_clock(tmp_path):
    file = tmp_path / "trace.json"
    options = ["--steps", 6, "-n", 3, "--batch", 24]
    done = rondo_train("lenet", *options, "--trace", file, "--trace-steps", "3:5")
    assert f"trace: {file} (steps 3 to 5)" in done.stdout, done.stderr
    trace = json.loads(file.read_text())["traceEvents"]
    steps = [spans(trace, rank, "Step") for rank in range(3)]
    for rank in range(3):
        assert list(steps[rank]) == ["step 3", "step 4", "step 5"]
        assert spans(trace, rank, "AllReduce") and spans(trace, rank, "Input")
        assert names_of(trace, "process_name", rank)[0].startswith(f"rank {rank} (")
        lanes = names_of(trace, "thread_name", rank)
        assert lanes[0] == "steps" and "exchanges" in lanes
    # Nobody ends a step before all have begun it: their gradients are in it.
    for step in steps[0]:
        last_to_begin = max(each[step][0] for each in steps)
        first_to_end = min(each[step][1] for each in steps)
        assert last_to_begin < first_to_end + 1000, (step, steps)


def test_a_trace_that_cannot_be_written_does_not_end_it(tmp_path):
    done = rondo_train("mlp", "--steps", 2, "--trace", tmp_path / "none" / "trace")
    assert done.returncode == 1
    assert "--trace: cannot write" in done.stdout and "test accuracy" in done.stdout


def test_a_trace_that_was_not_reached_is_not_named(tmp_path):
    file = tmp_path / "trace"
    options = ["-n", 2, "--trace", file, "--trace-steps", "999990:999999"]
    with Training(tmp_path / "out", *options) as job:
        job.wait_step(2)
        job.process.send_signal(signal.SIGINT)
        assert job.process.wait(60) == 128 + signal.SIGINT, job.text
    assert f"no trace: {file} is written after step 999999" in job.text
    assert f"trace: {file} (" not in job.text and not file.exists()


def test_the_report_says_where_the_time_of_each_worker_went():
    done = rondo_train("mlp", "--steps", 20, "-n", 2)
    assert losses(done)
    assert "computing  communication  for the slowest  input" in done.stdout
    for shares in worker_shares(done):
        assert sum(shares) == pytest.approx(100, abs=0.3), shares
    # Somebody is the last to come to an exchange, and there it takes time too.
    assert sum(communication for _, communication, _, _ in worker_shares(done)) > 0


def worker_shares(done):
    """Of each worker: computing, communication, for the slowest and input."""
    lines = re.findall(r"^ +([01]) +\d+ ((?: +[0-9.]+ %){4})$", done.stdout, re.M)
    assert [rank for rank, _ in lines] == ["0", "1"], done.stdout
    return [[float(x) for x in re.findall(r"[0-9.]+", shares)] for _, shares in lines]


def test_steps_that_are_traced_are_looked_at_too(tmp_path):
    done = rondo_train("mlp", "--steps", 6, "-n", 2, "--trace", tmp_path / "trace")
    assert losses(done) and "trace: " in done.stdout
    shares = worker_shares(done)
    assert sum(communication for _, communication, _, _ in shares) > 0, shares


def test_one_step_is_too_few_to_say_where_the_time_went():
    done = rondo_train("mlp", "--steps", 1, "-n", 2)
    assert losses(done)
    assert len(re.findall(r"^ +[01] +0 +- +- +- ", done.stdout, re.M)) == 2, done.stdout
