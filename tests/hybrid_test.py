"""The strategy hybrid in jobs of real processes: it trains as one process does, and
says who was lost."""

import os
import re
import signal
import sys

import pytest
from ranks import BUILD, rondo_run
from served_jobs import PYTHON, EndlessJob, losses


def served(servers):
    # Buckets as small as these are the ranks' alone unless a share is given.
    share = ["--env", "RONDO_SERVER_SHARE=0.5"]
    return ["--servers", servers, "--strategy", "hybrid", *share]


@pytest.mark.parametrize(
    ("model", "optimizer", "jobs"),
    [
        ("mlp", "adam", [(1, 1), (2, 0), (2, 2)]),
        ("lenet", "momentum", [(4, 2)]),
        ("embedding", "sgd", [(2, 1)]),
    ],
)
def test_python_trains_as_one_process(model, optimizer, jobs):
    program = [*PYTHON, "--model", model, "--optimizer", optimizer, "--steps", 6]
    alone = losses(1, *program)
    assert len(alone) == 6 and alone[-1] < alone[0]
    for ranks, servers in jobs:
        together = losses(ranks, *program, options=served(servers))
        assert together == pytest.approx(alone, abs=2e-5), (ranks, servers)


def test_cpp_trains_as_one_process():
    program = [BUILD / "tests" / "trainer", "lenet", 6]
    alone = losses(1, *program)
    assert len(alone) == 6
    assert losses(2, *program, options=served(2)) == pytest.approx(alone, abs=2e-5)


OPTIONS = """
import ast, sys
import numpy as np
import rondo as rd

options = ast.literal_eval(sys.argv[1])
strategy = rd.train.Hybrid(server_share=0.5, factors=False, **options)
rank, size = strategy.rank, strategy.size
runs = options.get("accumulate", 1)
x = rd.placeholder(rd.float32, [None, 32])
w = rd.get_variable("w", [32, 8], initializer=rd.zeros_initializer())
loss = rd.reduce_mean(rd.square(rd.matmul(x, w) - 1.0))
opt = strategy.distribute(rd.train.MomentumOptimizer(0.1, 0.9))
train_op = opt.minimize(loss)
assert strategy.name == "hybrid"
if size > 1:
    half = 256 * (2 if options.get("wire") == "bf16" else 4) // 2
    said = f"w: bucket, {2 * half} bytes, {half} of them to servers\\n"
    assert strategy.explain() == said, strategy.explain()
batches = np.random.default_rng(1).uniform(0, 1, (6, 16, 32)).astype(np.float32)
with rd.Session() as session:
    session.run(strategy.initializer())
    for step, batch in enumerate(batches):
        for i in range(rank * runs, rank * runs + runs):
            session.run(train_op, {x: batch[i :: size * runs]})
        if rank == 0:
            print(f"step {step}: loss {session.run(loss, {x: batch}):.6f}")
    strategy.join(session) if options.get("join") else None
    strategy.check_replicas(session)
"""


def test_the_options_of_the_ring_hold(tmp_path):
    program = tmp_path / "options.py"
    program.write_text(OPTIONS)
    alone = losses(1, sys.executable, program, "{}")
    assert len(alone) == 6 and alone[-1] < alone[0]
    for options, within in (
        ({}, 2e-5),
        ({"accumulate": 2}, 2e-5),
        ({"join": True}, 2e-5),
        ({"wire": "bf16"}, 5e-3),
    ):
        found = losses(2, sys.executable, program, options, options=served(1))
        assert found == pytest.approx(alone, abs=within), options


def test_a_share_that_is_none_is_explained():
    options = ["-n", 2, *served(1), "--env", "RONDO_SERVER_SHARE=most", "--no-prefix"]
    done = rondo_run(*options, "--", *PYTHON, "--steps", 1)
    assert done.returncode == 1
    said = "RONDO_SERVER_SHARE=most: expected a share from 0 to 1, or auto"
    assert said in done.stdout + done.stderr


def test_ranks_that_train_in_other_ways_are_told(tmp_path):
    program = tmp_path / "other.py"
    program.write_text(
        "import os, rondo as rd\n"
        "rank = int(os.environ['RONDO_RANK'])\n"
        "rd.train.ParameterServer() if rank else rd.train.Hybrid()\n"
    )
    options = ["-n", 2, *served(1), "--no-prefix", "--grace", 0]
    done = rondo_run(*options, "--", sys.executable, program)
    assert done.returncode == 1
    assert "this rank trains by ps, but rank 0 by hybrid" in done.stderr


def test_a_killed_rank_is_named_by_the_others(tmp_path):
    with EndlessJob(tmp_path, "hybrid") as job:
        pid = job.ranks()[1]
        os.kill(pid, signal.SIGKILL)
        job.process.wait(60)
    named = r"^failed PeerLostError .*\brank 1\b"
    assert len(re.findall(named, job.text, re.M)) == 2, job.text


def test_a_killed_server_is_named_by_all(tmp_path):
    with EndlessJob(tmp_path, "hybrid") as job:
        job.ranks()
        servers = job.servers()
        assert len(servers) == 2
        os.kill(servers[0], signal.SIGKILL)
        job.process.wait(60)
    text = job.text
    said = rf"^rondo: server 0 \(pid {servers[0]}\) was killed by signal 9"
    assert re.search(said, text, re.M), text
    assert len(re.findall(r"^failed \w+ .*server 0", text, re.M)) == 3, text
