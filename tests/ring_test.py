"""Strategies in jobs of real processes, C++ and Python: what `rondo run` starts
trains as one process does, and says who was lost."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from ranks import BUILD, RONDO, clean_env, rondo_run, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
PYTHON = [sys.executable, EXAMPLES / "train_ring.py"]


def losses(ranks, *program, strategy=None):
    """What rank 0 prints after each step."""
    options = ["--strategy", strategy] if strategy else []
    done = rondo_run("-n", ranks, "--no-prefix", *options, "--", *program, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^step \d+: loss ([0-9.]+)$", done.stdout, re.M)
    return [float(x) for x in found]


@pytest.mark.parametrize("model", ["mlp", "lenet", "embedding"])
def test_python_trains_as_one_process(model):
    program = [*PYTHON, "--model", model, "--steps", 8]
    alone = losses(1, *program)
    assert len(alone) == 8 and alone[-1] < alone[0]
    for ranks in (2, 4):
        together = losses(ranks, *program, strategy="ring")
        assert together == pytest.approx(alone, abs=2e-5), ranks


@pytest.mark.parametrize(
    "program", ["examples/train_ring", "tests/trainer lenet", "tests/trainer embedding"]
)
def test_cpp_trains_as_one_process(program):
    name, *options = program.split()
    program = [BUILD / name, *options, 8]
    alone = losses(1, *program)
    assert len(alone) == 8 and len(set(alone)) == 8
    for ranks in (2, 4):
        # Of several ranks, the ring is what from_env() takes unless told.
        assert losses(ranks, *program) == pytest.approx(alone, abs=2e-5), ranks


RING = """
import ast, sys
import numpy as np
import rondo as rd
from rondo import models

options = ast.literal_eval(sys.argv[1])
strategy = rd.train.Ring(**options)
rank, size = strategy.rank, strategy.size
runs = options.get("accumulate", 1)
rd.set_random_seed(1)
x = rd.placeholder(rd.float32, [None, 20])
y = rd.placeholder(rd.int64, [None])
loss = models.loss(y, models.MLP(units=(64, 32))(x))
opt = strategy.distribute(rd.train.MomentumOptimizer(0.05, 0.9))
global_step = rd.train.get_or_create_global_step()
train_op = opt.minimize(loss, global_step)
explained = strategy.explain().splitlines()
if size > 1 and "factors" in options:
    row = 4 * (20 + 64) * (size - 1)
    assert explained[0] == f"mlp/dense1/kernel: factors, {row} bytes a row", explained
    assert sum(": bucket, " in line for line in explained) == 3, explained
random = np.random.default_rng(7)
with rd.train.MonitoredTrainingSession() as session:
    for step in range(8):
        labels = random.integers(0, 10, 64)
        inputs = labels[:, None] / 5 - 1 + random.normal(0, 0.3, (64, 20))
        inputs = inputs.astype(np.float32)
        for i in range(rank * runs, rank * runs + runs):
            part = slice(i, None, size * runs)
            session.run(train_op, {x: inputs[part], y: labels[part]})
        now, steps = session.run([loss, global_step], {x: inputs, y: labels})
        assert steps == step + 1, steps
        if rank == 0:
            print(f"step {step}: loss {now:.6f}", flush=True)
"""


def test_factors_and_micro_batches_train_as_one_process(tmp_path):
    program = tmp_path / "ring.py"
    program.write_text(RING)
    alone = losses(1, sys.executable, program, "{}")
    assert len(alone) == 8 and alone[-1] < alone[0]
    for ranks, options in (
        (2, {"factors": True}),
        (4, {"factors": True}),
        (4, {"tune_buckets": True, "bucket_bytes": 9000}),
        (1, {"accumulate": 2}),
        (2, {"accumulate": 4}),
    ):
        found = losses(ranks, sys.executable, program, options)
        assert found == pytest.approx(alone, abs=2e-5), (ranks, options)


def test_cpp_factors_train_as_one_process():
    program = [BUILD / "tests/trainer", "lenet", 8, "factors"]
    alone = losses(1, *program)
    assert len(alone) == 8 and len(set(alone)) == 8
    for ranks in (2, 4):
        assert losses(ranks, *program) == pytest.approx(alone, abs=2e-5), ranks


JOIN = """
import rondo as rd

strategy = rd.train.Ring(join=True)
data = rd.data.Dataset.range(2 + 3 * strategy.rank)
value = rd.cast(data.make_one_shot_iterator().get_next(), rd.float32)
w = rd.get_variable("w", [2, 2], initializer=rd.zeros_initializer())
rate = 0.1
opt = strategy.distribute(rd.train.AdamOptimizer(rate))
global_step = rd.train.get_or_create_global_step()
loss = rd.reduce_sum(w * (value + 1.0))
train_op = opt.minimize(loss, global_step)
hooks = []
"""
JOINED = """
    strategy.check_replicas(session)
    steps = session.run_step_fn(lambda context: context.session.run(global_step))
    print(f"joined at {steps}", flush=True)
"""


def joined(program):
    """What three ranks print that have 2, 5 and 8 batches."""
    done = rondo_run("-n", 3, "--no-prefix", "--", sys.executable, program)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.split("\n"))


def test_ranks_with_fewer_data_join_as_the_text_says(tmp_path):
    program = tmp_path / "join.py"
    text = (EXAMPLES.parent / "docs/strategy_ring.md").read_text()
    parts = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    (loop,) = [part for part in parts if "strategy.join(session)" in part]
    program.write_text(JOIN + loop + JOINED)
    assert joined(program) == ["", *["joined at 8"] * 3]


def test_hooks_do_not_hear_of_joined_steps(tmp_path):
    program = tmp_path / "join.py"
    program.write_text(
        JOIN.replace("rate = 0.1", "rate = rd.placeholder(rd.float32, [])")
        + """
hooks = [rd.train.StopAtStepHook(6), rd.train.NanTensorHook(loss)]
with rd.train.MonitoredSession(hooks=hooks) as session:
    mine = 0
    try:
        while not session.should_stop():
            session.run(train_op, {rate: 0.1})
            mine += 1
    except rd.OutOfRangeError:
        pass
    print(f"{mine} of its own")
    strategy.join(session, {rate: 0.1})
"""
        + JOINED
    )
    assert joined(program) == [
        *["", "2 of its own", "5 of its own", "6 of its own"],
        *["joined at 6"] * 3,
    ]


def test_single_ranks_train_for_themselves():
    done = rondo_run(
        *["-n", 2, "--no-prefix", "--strategy", "single", "--"],
        *[*PYTHON, "--steps", 2],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("step 1:") == 2


def test_unknown_strategy():
    done = rondo_run("-n", 2, "--strategy", "rign", "--", "true")
    assert done.returncode != 0
    assert 'no strategy "rign"; there are single, ring, allreduce' in done.stderr


def test_checkpoints_are_rank_0s_and_all_go_on_from_them(tmp_path):
    program = [*PYTHON, "--checkpoint", tmp_path / "run"]
    first = losses(2, *program, "--steps", 3, strategy="ring")
    again = losses(2, *program, "--steps", 1, strategy="ring")
    # Everybody has what rank 0 restored: the loss goes on from where it was.
    assert abs(again[0] - first[-1]) < abs(again[0] - first[0])


ALIKE = """
import sys
import numpy as np
import rondo as rd

strategy = rd.train.Strategy.from_env()
rd.set_random_seed(1 + strategy.rank)
w = rd.get_variable("w", [4, 4])
x = rd.placeholder(rd.float32, [None, 4])
opt = strategy.distribute(rd.train.GradientDescentOptimizer(0.1))
train_op = opt.minimize(rd.reduce_mean(rd.square(rd.matmul(x, w))))
kinds = {
    "training": lambda: rd.train.MonitoredTrainingSession(),
    "monitored": lambda: rd.train.MonitoredSession(),
    "singular": lambda: rd.train.SingularMonitoredSession(),
}
for again in range(2):
    with kinds[sys.argv[1]]() as session:
        strategy.check_replicas(session)
        session.run(train_op, {x: np.full([2, 4], strategy.rank, np.float32)})
        strategy.check_replicas(session)
print("alike")
"""


@pytest.mark.parametrize("kind", ["training", "monitored", "singular"])
def test_all_begin_with_what_rank_0_has(tmp_path, kind):
    program = tmp_path / "alike.py"
    program.write_text(ALIKE)
    done = rondo_run("-n", 2, "--no-prefix", "--", sys.executable, program, kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("alike") == 2


WORKER = """
import os, sys
import numpy as np
import rondo as rd

strategy = rd.train.Strategy.from_env()
x = rd.placeholder(rd.float32, [None, 4])
w = rd.get_variable("w", [4, 4])
loss = rd.reduce_mean(rd.square(rd.matmul(x, w)))
opt = strategy.distribute(rd.train.GradientDescentOptimizer(0.1))
train_op = opt.minimize(loss)
session = rd.Session()
session.run(strategy.initializer())
print("ready", strategy.rank, os.getpid(), flush=True)
try:
    while True:
        session.run(train_op, {x: np.ones([2, 4], np.float32)})
except rd.Error as e:
    print("failed", type(e).__name__, e, flush=True)
    sys.exit(3)
"""


def test_a_killed_worker_is_named_by_the_others(tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(WORKER)
    out = tmp_path / "out"
    with open(out, "wb") as file:
        job = subprocess.Popen(
            [RONDO, "run", "-n", "3", "--no-prefix", "--grace", "20"]
            + ["--", sys.executable, program],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=clean_env(),
        )
    try:
        ready = wait_until(
            lambda: (
                len(found := re.findall(r"^ready (\d) (\d+)$", out.read_text(), re.M))
                == 3
                and dict(found)
            ),
            60,
            out.read_text,
        )
        os.kill(int(ready["1"]), signal.SIGKILL)
        job.wait(60)
    finally:
        if job.poll() is None:
            job.terminate()
            job.wait()
    text = out.read_text()
    assert len(re.findall(r"^failed PeerLostError .*rank 1\b", text, re.M)) == 2, text
    assert "AllReduce" in text, text
