"""Strategies with parameter servers in jobs of real processes: what `rondo run
--servers` starts trains as one process does, or converges, and says who was
lost."""

import os
import re
import signal
import statistics
import subprocess
import sys

import pytest
from ranks import BUILD, RONDO, clean_env, rondo_run, wait_until
from served_jobs import PYTHON, EndlessJob, losses, processes, servers_of

SERVED = ["--servers", 1, "--strategy"]


@pytest.mark.parametrize(
    ("model", "optimizer", "jobs"),
    [
        ("mlp", "sgd", [(1, 1), (4, 2)]),
        ("lenet", "momentum", [(2, 2)]),
        ("embedding", "adam", [(2, 1), (4, 2)]),
    ],
)
def test_python_trains_as_one_process(model, optimizer, jobs):
    program = [*PYTHON, "--model", model, "--optimizer", optimizer, "--steps", 6]
    alone = losses(1, *program)
    assert len(alone) == 6 and alone[-1] < alone[0]
    for ranks, servers in jobs:
        options = ["--servers", servers, "--strategy", "ps"]
        together = losses(ranks, *program, options=options)
        assert together == pytest.approx(alone, abs=2e-5), (ranks, servers)


@pytest.mark.parametrize("model", ["lenet", "embedding"])
def test_cpp_trains_as_one_process(model):
    program = [BUILD / "tests" / "trainer", model, 6]
    alone = losses(1, *program)
    options = ["--servers", 2, "--strategy", "ps"]
    assert len(alone) == 6
    assert losses(2, *program, options=options) == pytest.approx(alone, abs=2e-5)


@pytest.mark.parametrize(
    "options", [["ps-async"], ["ssp", "--staleness", 1], ["ps", "--backup", 1]]
)
def test_ranks_that_do_not_wait_converge(options):
    program = [*PYTHON, "--model", "mlp", "--optimizer", "sgd", "--steps"]
    found = losses(3, *program, 60, options=[*SERVED, *options])
    assert len(found) == 60
    # Not compared with rank 0's first: until then the others may have made many.
    first = losses(1, *program, 1)[0]
    # Single steps go up and down with how ranks are scheduled.
    assert statistics.mean(found[-10:]) < 0.7 * first, (first, found)


def test_a_checkpoint_is_good_for_every_strategy(tmp_path):
    ring, served = (2, ["--strategy", "ring"]), (2, [*SERVED, "ps"])
    alone, curves = (1, []), []
    for number, kinds in enumerate([(alone, alone), (served, ring), (ring, served)]):
        program = [*PYTHON, "--optimizer", "adam", "--checkpoint"]
        program += [tmp_path / f"run{number}", "--steps", 3]
        curve = [losses(n, *program, options=options) for n, options in kinds]
        curves.append(curve[0] + curve[1])
    # What Adam keeps, on servers or not, is in it: else the curve would go on
    # differently.
    assert len(curves[0]) == 6 and curves[0][5] < curves[0][2] < curves[0][0]
    for curve in curves[1:]:
        assert curve == pytest.approx(curves[0], abs=2e-5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--servers", 2], "--servers 2 needs a strategy with servers"),
        (["--servers", 2, "--strategy", "ring"], "hybrid, ps, ps-async or ssp"),
        (["--strategy", "ssp"], "the strategy ssp needs parameter servers: add --serv"),
        ([*SERVED[:1], -1, "--strategy", "ps"], "--servers -1: expected from 0"),
        (["--backup", 1], "--backup 1: only the strategy ps has backup workers"),
        (["--backup", 1, "--strategy", "ring"], "add --strategy ps"),
        ([*SERVED, "hybrid", "--backup", 1], "add --strategy ps"),
        ([*SERVED, "ps-async", "--backup", 1], "add --strategy ps"),
        ([*SERVED, "ssp", "--backup", 1], "add --strategy ps"),
        ([*SERVED, "ps", "--backup", -1], "--backup -1: expected a number"),
    ],
)
def test_command_lines_that_cannot_work(options, sentence):
    done = rondo_run("-n", 2, *options, "--", "true")
    assert done.returncode == 2
    assert sentence in done.stderr


def test_the_environment_is_named_where_it_says_the_strategy():
    done = rondo_run("-n", 2, "--", "true", env={"RONDO_STRATEGY": "ps"})
    assert done.returncode == 2
    assert "ps of RONDO_STRATEGY needs parameter servers" in done.stderr
    done = rondo_run("-n", 2, "--", "true", env={"RONDO_STRATEGY": "pz"})
    assert "RONDO_STRATEGY: " in done.stderr and "--strategy:" not in done.stderr


def test_a_rank_that_somebody_else_started_becomes_the_program():
    env = {"RONDO_STRATEGY": "ps", "PMI_RANK": "0", "PMI_SIZE": "1"}
    done = rondo_run("--", "sh", "-c", "echo $RONDO_STRATEGY", env=env)
    assert (done.returncode, done.stdout) == (0, "ps\n"), done.stderr
    done = rondo_run("--strategy", "pz", "--", "true", env=env)
    assert done.returncode == 2 and "--strategy" in done.stderr


def test_a_server_that_cannot_be_ended_does_not_hold_the_job(tmp_path):
    # Its agent stands still, as one on a host that cannot be reached.
    script = f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"
    command = [RONDO, "run", "-n", "1", *map(str, SERVED), "ps", "--", "sh", "-c"]
    with subprocess.Popen(
        [*command, script], stderr=subprocess.PIPE, text=True, env=clean_env()
    ) as job:
        wait_until(lambda: servers_of(job.pid), 30, lambda: "no server has started")
        (server,) = servers_of(job.pid)
        agent = processes()[server][0]
        assert agent != job.pid
        os.kill(agent, signal.SIGSTOP)
        (tmp_path / "go").touch()
        try:
            _, err = job.communicate(timeout=60)
        finally:
            job.kill()
    assert job.returncode == 0, err
    assert "rondo: lost server 0 on localhost" in err


RULES = """
import os
import rondo as rd

rank = int(os.environ["RONDO_RANK"])
if os.environ["RONDO_STRATEGY"] == "ssp":
    rd.train.ParameterServer("ssp", staleness=2 + rank)
else:
    rd.train.ParameterServer(backup=rank)
"""


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ("ssp", "trains by ssp with staleness 3, but rank 0 by ssp with staleness 2"),
        ("ps", "this rank trains by ps with 1 backup workers, but rank 0 by ps:"),
    ],
)
def test_ranks_that_train_in_other_ways_are_told(tmp_path, strategy, sentence):
    program = tmp_path / "rules.py"
    program.write_text(RULES)
    options = ["-n", 2, *SERVED, strategy, "--no-prefix", "--grace", 0]
    done = rondo_run(*options, "--", sys.executable, program)
    assert done.returncode == 1
    assert sentence in done.stderr


FORKING = """
import os, sys
import rondo as rd

strategy = rd.train.Strategy.from_env()
child = os.fork()
if child == 0:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
# The parent's strategy is as it was.
w = rd.get_variable("w", [64])
opt = strategy.distribute(rd.train.GradientDescentOptimizer(0.1))
train_op = opt.minimize(rd.reduce_sum(rd.square(w)))
with rd.Session() as session:
    session.run(strategy.initializer())
    session.run(train_op)
"""


@pytest.mark.parametrize("served", [[], ["ps"], ["hybrid"]])
def test_a_forked_child_comes_to_its_end(tmp_path, served):
    program = tmp_path / "forking.py"
    program.write_text(FORKING)
    options = ["-n", 2, *(SERVED if served else []), *served, "--timeout", 60]
    done = rondo_run(*options, "--", sys.executable, program, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr


SAVING = """
import sys
import numpy as np
import rondo as rd

strategy = rd.train.Strategy.from_env()
w = rd.get_variable("w", [4])
opt = strategy.distribute(rd.train.MomentumOptimizer(0.1, 0.9))
train_op = opt.minimize(rd.reduce_sum(rd.square(w)))
session = rd.Session()
session.run(strategy.initializer())
session.run(train_op)
saver = rd.train.Saver()
saver.save(session, sys.argv[1])
strategy.close()
print(saver.save(session, sys.argv[1]))
"""


def test_who_has_closed_the_strategy_may_save(tmp_path):
    program = tmp_path / "saving.py"
    program.write_text(SAVING)
    options = ["-n", 1, *SERVED, "ps", "--no-prefix"]
    done = rondo_run(*options, "--", sys.executable, program, tmp_path / "model")
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(tmp_path / "model") in done.stdout


FAILING = """
import numpy as np
import rondo as rd

strategy = rd.train.Strategy.from_env()
w = rd.get_variable("w", [4])
opt = strategy.distribute(rd.train.GradientDescentOptimizer(0.1))
train_op = opt.minimize(rd.reduce_sum(rd.square(w)))
session = rd.Session()
session.run(strategy.initializer())
session.run(train_op)
if strategy.rank == 1:
    raise ValueError("no more data")
session.run(train_op)
print("went on alone")
"""


def test_others_do_not_go_on_without_a_rank_whose_program_failed(tmp_path):
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    options = ["-n", 2, *SERVED, "ps", "--no-prefix", "--grace", 30]
    done = rondo_run(*options, "--", sys.executable, program)
    assert done.returncode == 1
    assert "went on alone" not in done.stdout
    assert "its program ended with ValueError('no more data')" in done.stderr


def test_servers_end_with_ranks_that_do_not_need_them():
    done = rondo_run("-n", 2, *SERVED, "ps", "--", "true")
    assert (done.returncode, done.stderr) == (0, "")


MODES = """
import rondo as rd

for wire in ("f16", "small"):
    try:
        rd.train.ParameterServer(wire=wire)
    except rd.errors.InvalidArgumentError as e:
        print("refused", e)
strategy = rd.train.ParameterServer(mode="ssp", staleness=2)
print(strategy.name, strategy.rank, strategy.size)
again = rd.train.ParameterServer("ssp", 2)
for make in (lambda: rd.train.ParameterServer("sync"),
             lambda: rd.train.ParameterServer("later"),
             lambda: rd.train.ParameterServer("ssp", 2, wire="bf16")):
    try:
        make()
        print("made")
    except rd.errors.InvalidArgumentError as e:
        print("refused", e)
w = rd.get_variable("w", [4])
for opt in (rd.train.AdadeltaOptimizer(),
            rd.train.MomentumOptimizer(0.1, rd.placeholder(rd.float32, []))):
    try:
        strategy.distribute(opt).minimize(rd.reduce_sum(w))
    except rd.errors.InvalidArgumentError as e:
        print("refused", e)
"""


def test_what_the_program_says_counts_and_some_is_refused(tmp_path):
    program = tmp_path / "modes.py"
    program.write_text(MODES)
    options = ["-n", 1, *SERVED, "ps", "--no-prefix"]
    done = rondo_run(*options, "--", sys.executable, program)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "ssp 0 1\n" in said
    assert "made" not in said
    for sentence in (
        "cannot travel as f16: expected f32 or bf16",
        'wire is "small"',
        "has other options",
        'mode is "later"; expected "sync", "async" or "ssp"',
        "they have GradientDescent, Momentum, Adagrad, RMSProp, Adam, AdamW",
        "only the learning rate may change",
    ):
        assert sentence in said, said


def test_a_killed_rank_is_named_by_the_others(tmp_path):
    with EndlessJob(tmp_path, "ps") as job:
        pid = job.ranks()[1]
        os.kill(pid, signal.SIGKILL)
        job.process.wait(60)
    named = rf"^failed PeerLostError .*worker 1 \(\S+ pid {pid}\)"
    assert len(re.findall(named, job.text, re.M)) >= 1, job.text
    assert len(re.findall(rf"^failed .*\b{pid}\b", job.text, re.M)) == 2, job.text


@pytest.mark.parametrize("strategy", ["ps", "ssp"])
def test_a_killed_server_is_named_by_all(tmp_path, strategy):
    with EndlessJob(tmp_path, strategy) as job:
        job.ranks()
        servers = job.servers()
        assert len(servers) == 2
        os.kill(servers[0], signal.SIGKILL)
        job.process.wait(60)
    text = job.text
    said = rf"^rondo: server 0 \(pid {servers[0]}\) was killed by signal 9"
    assert re.search(said, text, re.M), text
    assert len(re.findall(r"^failed PeerLostError .*server \d", text, re.M)) == 3, text
