"""Elastic training: ranks are killed, and the others go on."""

import datetime
import os
import re
import signal
import subprocess
import sys
import types

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
import torch.distributed as dist
from horovod_ranks import raises
from launchers_test import RONDO, ROOT
from rondo.torch.horovod.elastic import patience, regroup
from rondo.torch.horovod.settings import Settings

SHORT = ("--epochs", "2", "--samples", "240", "--lr", "0.03")


def program(*args):
    return [sys.executable, ROOT / "examples" / "horovod_elastic.py", *args]


def test_a_killed_worker():
    """The one that decides."""
    victim = 0
    command = [RONDO, "run", "-n", "3", "--min-ranks", "2", "--no-prefix", "--"]
    done = subprocess.run(
        [*map(str, command + program("--kill", str(victim), *SHORT))],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 ranks go on (--min-ranks 2)" in done.stderr
    found = re.findall(r"rank (\d) is rank (\d) of 2: (\S+)", done.stdout)
    left = [str(rank) for rank in range(3) if rank != victim]
    assert sorted(one[:2] for one in found) == list(zip(left, "01", strict=True))
    assert len({digest for _, _, digest in found}) == 1, found
    losses = re.findall(r"epoch \d: loss (\S+) on 2 ranks", done.stdout)
    assert len(losses) == 2 and float(losses[-1]) < 3.0, done.stdout


def _two_are_lost(rank, size):
    """One in the middle of training, another while the rest begins again."""
    lives = []

    @hvd.elastic.run
    def train(state):
        lives.append(hvd.size())
        if rank == 3 and hvd.size() < size:
            os.kill(os.getpid(), signal.SIGKILL)
        while state.step < 4:
            if rank == 1 and state.step == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            state.total += hvd.allreduce(torch.ones(1), op=hvd.Sum).item()
            state.step += 1
            state.commit()
        return state.total

    state = hvd.elastic.ObjectState(step=0, total=0.0)
    return train(state), lives, _updated(hvd.rank(), hvd.size())


def test_two_killed_workers():
    found = horovod_ranks.outcomes(4, _two_are_lost)
    assert [one.error for one in found] == ["", "died", "", "died"], found
    for rank in (0, 2):
        total, lives, resets = found[rank].check()
        # Rank 3 may die while others still wait for the state, and do not begin.
        assert lives[0] == 4 and lives[-1] == 2 and total == 4 + 4 + 2 + 2
        # A second function, whose ranks meet once more.
        assert resets == [2]


def _fails_for_ever(rank, size, commits):
    calls = []

    @hvd.elastic.run
    def train(state):
        calls.append(state)
        if commits:
            state.commit()
        state._commits += rank  # ranks may differ: rank 0's word counts
        hvd.allreduce(torch.ones(1 + rank), name="bad")

    patience._MOST = 4
    # A name that was once taken.
    state = hvd.elastic.ObjectState(commits=1)
    return raises(hvd.HorovodInternalError, "", train, state), len(calls)


@pytest.mark.parametrize("commits", [False, True])
def test_an_error_that_comes_back_ends_it(commits):
    times = 4 if commits else 2
    texts, calls = zip(*horovod_ranks.run(2, _fails_for_ever, commits), strict=True)
    assert calls == (times, times)
    # The first to hear of it leaves the group, which the other may hear first.
    assert any("shape" in text for text in texts), texts


class _Meeting:
    """A store in which others announce themselves while somebody waits."""

    def __init__(self, alive):
        self._store = dist.HashStore()
        self._alive = alive  # lists of ranks, one for each wait

    def wait(self, keys, timeout):
        for rank in self._alive.pop(0) if self._alive else []:
            self._store.set(f"alive{rank}", "1")
        self._store.wait(keys, datetime.timedelta(milliseconds=1))

    def __getattr__(self, name):
        return getattr(self._store, name)


def _meets(members):
    job = types.SimpleNamespace(size=members, rank=0)
    return regroup.Regroup(job)


def test_a_decider_that_dies():
    meeting = _Meeting([[0, 1]])
    meeting.add("deciders", 1)
    assert _meets(2)._decide(meeting, Settings()) is None


def test_a_decider_that_stands_still():
    """It finds that the others have gone on."""
    meeting = _Meeting([[0, 1]])
    meeting.add("deciders", 1)
    assert _meets(2)._decide(meeting, Settings()) is None
    regroup._propose(meeting, "[0, 1]")
    assert _meets(2)._decide(meeting, Settings()) is None


def test_a_decider_that_has_decided():
    """And was lost, or stands still, before it could say so."""
    meeting = _Meeting([[0, 1]])
    meeting.add("deciders", 1)
    meeting.set("proposal", "[1, 2]")
    meeting.add("verdict", regroup._PROPOSED)
    assert _meets(2)._decide(meeting, Settings()) == [1, 2]


def test_a_meeting_that_nobody_can_end():
    meeting = _Meeting([[0, 1]])
    meeting.add("deciders", 1)
    meeting.add("quitters", 1)
    with pytest.raises(RuntimeError, match="could not agree"):
        _meets(2)._decide(meeting, Settings(connect_timeout=2.0))


def test_members_that_still_connect_are_waited_for():
    slices = round(regroup._SETTLE / regroup._SLICE.total_seconds())
    one = _meets(4)
    one._store = dist.HashStore()
    for rank in (0, 1):
        one._store.set(f"up{rank}", "1")
    # Rank 2 comes later than one that was connected may; 1 and 3 do not.
    meeting = _Meeting([[0]] + [[]] * slices + [[2]])
    settings = Settings(connect_timeout=2.0)
    assert one._decide(meeting, settings) == [0, 2]
    one._store.set("up2", "1")
    one._store.set("up3", "1")
    meeting = _Meeting([[0]] + [[]] * slices + [[2]])
    assert one._decide(meeting, settings) == [0]


def _updated(rank, size):
    """One rank is told that the hosts have changed; all meet again."""
    resets = []

    @hvd.elastic.run
    def train(state):
        while state.step < 3:
            state.step += 1
            if rank == size - 1 and state.step == 2 and not resets:
                state.on_hosts_updated()
            state.commit()
        return state.step

    state = hvd.elastic.ObjectState(step=0)
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])
    assert train(state) == 3
    return resets


@pytest.mark.parametrize("size", [1, 2])
def test_hosts_that_are_updated(size):
    assert horovod_ranks.run(size, _updated) == [[size]] * size


def check_object_state(rank, size):
    del size
    state = hvd.elastic.ObjectState(numbers=[rank], text="a")
    state.numbers.append(7)
    state.restore()
    assert state.numbers == [rank]
    state.numbers.append(7)
    state.text = "b"
    state.save()
    state.numbers.clear()
    state.restore()
    assert state.numbers == [rank, 7] and state.text == "b"
    state.sync()
    assert state.numbers == [0, 7]
    raises(NotImplementedError, "", hvd.elastic.State().save)


def check_torch_state(rank, size):
    torch.manual_seed(rank)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rank + 1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    state = hvd.elastic.TorchState(model, optimizer, schedule=schedule, epoch=rank)
    assert state.model is model and state.optimizer is optimizer
    begin = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.zero_()
    state.restore()
    assert torch.equal(model.weight, begin)
    state.sync()
    assert optimizer.param_groups[0]["lr"] == 1.0 and state.epoch == 0
    weights = hvd.allgather(model.weight.detach())
    assert all(torch.equal(one, weights[0]) for one in weights)
    state.commit()
    other = torch.nn.Linear(2, 1)
    state.model = other
    kept = other.weight.detach().clone()
    with torch.no_grad():
        other.weight.zero_()
    state.restore()
    assert torch.equal(other.weight, kept)


def check_sampler(rank, size):
    data = list(range(22))
    sampler = hvd.elastic.ElasticSampler(data, shuffle=False)
    assert list(sampler) == [i % 22 for i in range(rank, -(-22 // size) * size, size)]
    assert len(sampler) == -(-22 // size)
    sampler.record_batch(0, 2)
    state = sampler.state_dict()
    assert state == {"epoch": 0, "processed_num": 2 * size}
    sampler.load_state_dict(state)
    assert next(iter(sampler)) == 2 * size + rank
    sampler.record_batch(1, 100)  # more than there is
    sampler.reset()
    assert list(sampler) == [] and len(sampler) == 0
    sampler.set_epoch(1)
    assert len(sampler) == -(-22 // size)
    shuffled = hvd.elastic.ElasticSampler(data, seed=3)
    together = hvd.allgather(torch.tensor(list(shuffled))).tolist()
    assert set(together) == set(data) and together != sorted(together)
    first = list(shuffled)
    shuffled.set_epoch(1)
    assert list(shuffled) != first


@pytest.fixture(scope="module", params=[1, 2, 4])
def ranks(request):
    return horovod_ranks.Checks(request.param, __name__)


@pytest.mark.parametrize("check", horovod_ranks.names(__name__))
def test(ranks, check):
    ranks.verify(check)
