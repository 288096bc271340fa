"""Elastic training: ranks are killed, and the others go on."""

import os
import re
import signal
import subprocess
import sys

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
from horovod_ranks import raises
from launchers_test import RONDO, ROOT

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
    return train(state), lives


def test_two_killed_workers():
    found = horovod_ranks.outcomes(4, _two_are_lost)
    assert [one.error for one in found] == ["", "died", "", "died"], found
    for rank in (0, 2):
        total, lives = found[rank].check()
        # The second may be lost before the others have begun again.
        assert lives in ([4, 3, 2], [4, 2]) and total == 4 + 4 + 2 + 2


def _fails_for_ever(rank, size):
    calls = []

    @hvd.elastic.run
    def train(state):
        calls.append(state)
        hvd.allreduce(torch.ones(1 + rank), name="bad")

    raises(hvd.HorovodInternalError, "shape", train, hvd.elastic.ObjectState(x=1))
    return len(calls)


def test_an_error_that_comes_back_ends_it():
    assert horovod_ranks.run(2, _fails_for_ever) == [2, 2]


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
