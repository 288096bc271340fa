"""Elastic training that grows: ranks are added to a job that runs."""

import re
import subprocess
import sys

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


def test_invitations():
    store = dist.HashStore()
    store.add("entries", 2)
    store.set("rank1", "7")
    store.set("rank2", "8")
    one, other = Newcomers(store), Newcomers(store)
    assert one.are_waiting() and other.are_waiting()
    assert one.invite(3) == [7, 8]
    assert other.invite(3) == [7, 8]  # to the same meeting
    assert not one.are_waiting()
    store.add("entries", 1)
    store.set("rank3", "9")
    assert one.are_waiting() and one.invite(4) == [9]
    # Who comes to a later meeting does not invite those again.
    assert Newcomers(store).invite(5) == []


def test_a_newcomer_that_was_lost_before_it_said_who_it_is():
    store = dist.HashStore()
    store.add("entries", 2)
    store.set("rank2", "8")
    assert Newcomers(store).invite(0) == [8]


def test_a_newcomer_does_not_wait_for_a_job_that_is_gone(caplog):
    with pytest.raises(SystemExit) as ended:
        Newcomers(dist.HashStore(), patience=0.6).enter(7)
    assert ended.value.code == 1
    assert "rank 7 waits to join the job" in caplog.text
