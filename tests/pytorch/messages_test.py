"""send, recv and what is made of them."""

import datetime
import os

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from torch_ranks import fail, run

SIZES = pytest.mark.parametrize("size", [2, 4])
# Short; longer than what leaves without being asked for; longer than a pipe.
COUNTS = (1, 20_000, 1_000_000)


def _ring(rank, size):
    for dtype in (torch.float32, torch.bfloat16, torch.complex64, torch.bool):
        for count in COUNTS:
            x = torch.full((count,), rank % 2, dtype=dtype)
            y = torch.empty_like(x)
            receive = dist.irecv(y, (rank - 1) % size)
            send = dist.isend(x, (rank + 1) % size)
            send.wait()
            receive.wait()
            assert torch.equal(y, torch.full_like(x, (rank - 1) % size % 2))


def _pairs(rank, size):
    peer = rank ^ 1
    for count in COUNTS:
        x = torch.full((count,), float(rank))
        y = torch.empty(count)
        if rank < peer:
            dist.send(x, peer)
            dist.recv(y, peer)
        else:
            dist.recv(y, peer)
            dist.send(x, peer)
        assert torch.equal(y, torch.full((count,), float(peer)))
    # Not contiguous, both of them.
    x = torch.arange(12.0).reshape(3, 4).t()
    y = torch.zeros(3, 8)[:, ::2].t()
    works = [dist.irecv(y, peer), dist.isend(x, peer)]
    for work in works:
        work.wait()
    assert torch.equal(x, y)


def _tags(rank, size):
    if rank == 0:
        for tag in (1, 2, 3):
            dist.isend(torch.tensor([float(tag)]), 1, tag=tag).wait()
    elif rank == 1:
        for tag in (3, 1, 2):
            x = torch.empty(1)
            dist.recv(x, 0, tag=tag)
            assert x.item() == tag


def _any_source(rank, size):
    if rank != 0:
        dist.send(torch.tensor([float(rank)]), 0)
        return
    seen = set()
    for _ in range(size - 1):
        x = torch.empty(1)
        source = dist.recv(x)
        assert x.item() == source
        seen.add(source)
    assert seen == set(range(1, size))


def _batch(rank, size):
    y = torch.empty(4)
    ops = [
        dist.P2POp(dist.isend, torch.full((4,), float(rank)), (rank + 1) % size),
        dist.P2POp(dist.irecv, y, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert torch.equal(y, torch.full((4,), float((rank - 1) % size)))


def _beside_collectives(rank, size):
    """A receive that is posted early does not hold up collectives."""
    y = torch.empty(1)
    if rank == 0:
        work = dist.irecv(y, 1)
    x = torch.ones(3)
    dist.all_reduce(x)
    assert torch.equal(x, torch.full((3,), float(size)))
    if rank == 0:
        assert not work.is_completed()
    dist.barrier()
    if rank == 1:
        dist.send(torch.tensor([7.0]), 0)
    if rank == 0:
        work.wait()
        assert y.item() == 7


@SIZES
@pytest.mark.parametrize(
    "body",
    [_ring, _pairs, _tags, _any_source, _batch, _beside_collectives],
    ids=lambda body: body.__name__[1:],
)
def test_messages(size, body):
    run(size, body)


def _monitored(rank, size):
    rondo.torch.monitored_barrier()
    rondo.torch.monitored_barrier(timeout=datetime.timedelta(seconds=20))


def test_monitored_barrier():
    run(4, _monitored)


def _absent(rank, size, all_ranks):
    if rank in (1, 3):
        return "absent"
    rondo.torch.monitored_barrier(
        timeout=datetime.timedelta(seconds=1), wait_all_ranks=all_ranks
    )
    return "passed"


@pytest.mark.parametrize("all_ranks", [True, False])
def test_monitored_barrier_names_the_absent(all_ranks):
    outcomes = fail(4, _absent, all_ranks)
    named = "Ranks 1, 3" if all_ranks else "Rank 1"
    assert f"{named} failed to pass monitoredBarrier in 1000 ms" in outcomes[0].text
    assert outcomes[0].error == "DistBackendError"
    assert "Rank 2 successfully reached monitoredBarrier" in outcomes[2].text


def _dead(rank, size):
    if rank == 1:
        os._exit(3)
    rondo.torch.monitored_barrier()


def test_monitored_barrier_says_why():
    text = fail(2, _dead)[0].text
    # Rank 0 may know of it before it comes to the barrier.
    assert "Rank 1 failed to pass monitoredBarrier" in text or "rank 1 (" in text
    assert "was lost" in text and "Timed out" not in text


def _sizes_differ(rank, size, count):
    x = torch.empty(count + rank)
    if rank == 0:
        dist.send(x, 1)
        dist.recv(x, 1)
    else:
        dist.recv(x, 0)


@pytest.mark.parametrize("count", [4, 20_000])
def test_messages_of_different_sizes(count):
    for outcome in fail(2, _sizes_differ, count):
        assert outcome.error == "DistBackendError", outcome
        assert f"expects {count + 1} f32" in outcome.text
        assert f"sends {count} f32" in outcome.text


def _late(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        with pytest.raises(dist.DistBackendError, match="recv from rank 1 .*timed out"):
            dist.recv(torch.empty(2), 1)
        store.set("gave up", "")
    else:
        store.wait(["gave up"], datetime.timedelta(seconds=60))


def test_time_out_names_the_peer():
    run(2, _late, timeout=2)


def _patient(rank, size):
    ever = datetime.timedelta(days=400_000)
    receive = dist.irecv(torch.empty(1), 1 - rank)
    dist.isend(torch.ones(1), 1 - rank).wait(ever)
    receive.wait(ever)
    dist.all_reduce(torch.ones(1), async_op=True).wait(ever)


def test_time_outs_of_a_thousand_years():
    run(2, _patient, timeout=400_000 * 86_400)


def _wrong_ranks(rank, size):
    x = torch.empty(2)
    with pytest.raises(ValueError, match="send: rank 7 is not one of"):
        dist.send(x, 7)
    with pytest.raises(ValueError, match="rank of the current process"):
        dist.send(x, rank)
    with pytest.raises(ValueError, match="broadcast: rank 9 is not one of"):
        dist.broadcast(x, 9)


def test_wrong_ranks():
    run(2, _wrong_ranks)
