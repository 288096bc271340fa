"""Elastic training that grows: ranks are added to a job that runs."""

import itertools
import re
import subprocess
import sys
import time

import pytest
import torch.distributed as dist
from launchers_test import RONDO, environment
from rondo.torch.horovod.elastic.newcomers import Newcomers

# Two ranks, then three, then two again: some steps of training with each.
TRAINING = """
import os, pathlib, signal, sys
import torch
import rondo.torch as hvd

hvd.init()
own = int(os.environ["RONDO_RANK"])
torch.manual_seed(own)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())

@hvd.elastic.run
def train(state):
    while state.sizes != [2, 3, 2] or state.steps < 3:
        if state.sizes[-1:] != [hvd.size()]:
            state.sizes.append(hvd.size())
            state.steps = 0
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        state.steps += 1
        if state.steps == 3 and state.sizes == [2] and own == 0:
            pathlib.Path(sys.argv[1]).write_text("localhost:3")
        if state.steps == 3 and state.sizes == [2, 3] and own == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        state.commit()

state = hvd.elastic.TorchState(model, optimizer, sizes=[], steps=0)
train(state)
digest = sum(p.detach().double().sum().item() for p in model.parameters())
line = f"{own} is {hvd.rank()} of {hvd.size()}, {state.sizes}: {digest:.12f}"
os.write(1, (line + "\\n").encode())
"""

# Ends while another waits to be taken in.
TOO_LATE = """
import pathlib, sys
import rondo.torch as hvd
from rondo.torch.horovod import basics

hvd.init()
assert hvd.rank() == 0, "taken in"
pathlib.Path(sys.argv[1]).write_text("localhost:2")
basics.process().job.part("newcomers").wait(["rank1"])
"""


# While one waits to be taken in, a child ends well, all leave and meet anew, and one
# fails: none of it is the end of the job.
NOT_OVER = """
import os, pathlib, sys
import torch
import rondo.torch as hvd
from rondo.torch.horovod import basics

hvd.init()
own = int(os.environ["RONDO_RANK"])
if own == 0:
    pathlib.Path(sys.argv[1]).write_text("localhost:3")
if own < 2:
    basics.process().job.part("newcomers").wait(["rank1"])
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    hvd.shutdown()
    hvd.init()
    hvd.barrier()
if own == 1:
    sys.exit("one fails")

@hvd.elastic.run
def train(state):
    taken = torch.tensor([float(own == 2)])
    while not hvd.allreduce(taken, op=hvd.Sum, name="taken").item():
        state.commit()

calls = []
state = hvd.elastic.ObjectState()
state.register_reset_callbacks([lambda: calls.append(own)])
train(state)
os.write(1, f"{own} of {hvd.size()}, reset {len(calls)}\\n".encode())
"""


def grow(tmp_path, source, slots, *args):
    """Runs a program with as many ranks as a file says."""
    program, hosts = tmp_path / "program.py", tmp_path / "hosts"
    program.write_text(source)
    hosts.write_text(f"localhost:{slots}")
    command = [RONDO, "run", "--min-ranks", "1", "--max-ranks", "3", "--no-prefix"]
    command += ["--host-discovery-script", f"cat {hosts}", "--", sys.executable]
    done = subprocess.run(
        [*map(str, [*command, program, hosts, *args])],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def one_is_added_then_one_is_lost(tmp_path, victim):
    done = grow(tmp_path, TRAINING, 2, victim)
    assert "rondo: adding rank 2 on localhost" in done.stderr
    assert "2 ranks go on (--min-ranks 1)" in done.stderr
    found = re.findall(r"(\d) is (\d) of 2, \[2, 3, 2\]: (\S+)", done.stdout)
    left = [rank for rank in "012" if rank != victim]
    assert sorted(one[:2] for one in found) == list(zip(left, "01", strict=True))
    assert len({digest for _, _, digest in found}) == 1, found


def test_one_is_added_then_rank_0_is_lost(tmp_path):
    """So that the one that was added goes on with one that was there."""
    one_is_added_then_one_is_lost(tmp_path, "0")


def test_the_one_that_was_added_is_lost(tmp_path):
    one_is_added_then_one_is_lost(tmp_path, "2")


def test_a_job_that_ends_while_one_waits(tmp_path):
    said = grow(tmp_path, TOO_LATE, 1).stderr
    assert "the job ended before rank 1 could join it" in said


def test_what_is_not_the_end_of_the_job(tmp_path):
    done = grow(tmp_path, NOT_OVER, 2)
    assert "one fails" in done.stderr
    # Of those that were there before, not of the one that was added.
    found = dict(re.findall(r"(\d) of 2, reset (\d)", done.stdout))
    assert sorted(found) == ["0", "2"], done.stdout
    assert found["0"] != "0" and found["2"] == "0"


def enter(store, rank):
    """What a newcomer does before it waits."""
    entry = store.add("entries", 1)
    store.set(f"rank{entry}", str(rank))
    store.add("rings", 1)


def test_invitations():
    store = dist.HashStore()
    enter(store, 7)
    enter(store, 8)
    one, other = Newcomers(store), Newcomers(store)
    assert one.are_waiting() and other.are_waiting()
    assert one.invite(3) == [7, 8]
    assert other.invite(3) == [7, 8]  # to the same meeting
    assert not one.are_waiting()
    enter(store, 9)
    assert one.are_waiting() and one.invite(4) == [9]
    # Who comes to a later meeting does not invite those again.
    late = Newcomers(store)
    assert not late.are_waiting() and late.invite(5) == []


def test_a_newcomer_that_stood_still_while_it_said_who_it_is():
    """It holds nobody up, and is invited when it goes on; or it was lost then."""
    store = dist.HashStore()
    assert store.add("entries", 1) == 1
    enter(store, 8)
    one = Newcomers(store)
    assert one.are_waiting() and one.invite(0) == [8]
    assert not one.are_waiting() and one.invite(1) == []
    store.set("rank1", "7")
    store.add("rings", 1)
    assert one.are_waiting() and one.invite(2) == [7]
    assert not one.are_waiting()


def test_a_newcomer_does_not_wait_for_a_job_that_is_gone(caplog):
    with pytest.raises(SystemExit) as ended:
        Newcomers(dist.HashStore(), patience=0.6).enter(7)
    assert ended.value.code == 1
    assert "rank 7 waits to join the job" in caplog.text


def test_a_machine_that_stands_still_while_a_newcomer_waits(monkeypatch):
    """The others stood still too, and are not taken for gone."""
    store = dist.HashStore()
    clock = itertools.count(step=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    looks = itertools.count()

    def is_over():
        if next(looks) == 1:
            store.set("meeting1", "5")
        return False

    assert Newcomers(store, is_over, patience=60.0).enter(7) == 5


def test_a_newcomer_ends_with_the_job(caplog):
    with pytest.raises(SystemExit) as ended:
        Newcomers(dist.HashStore(), lambda: True).enter(7)
    assert ended.value.code == 0
    assert "the job ended before rank 7 could join it" in caplog.text
