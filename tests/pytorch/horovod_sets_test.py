"""Process sets, and ranks that join, on 1, 2 and 4 ranks."""

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
from horovod_ranks import raises


def check_global_set(rank, size):
    every = hvd.global_process_set
    assert every.process_set_id == 0 and every.ranks == list(range(size))
    assert (every.size(), every.rank(), every.included()) == (size, rank, True)
    assert hvd.remove_process_set(every) is False
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=every) == size


def check_some_ranks(rank, size):
    """Even and odd ranks, at the same time."""
    if size == 1:
        return
    halves = [hvd.add_process_set(list(range(i, size, 2))) for i in range(2)]
    mine, other = halves[rank % 2], halves[1 - rank % 2]
    assert mine.included() and not other.included()
    assert (mine.rank(), mine.size()) == (rank // 2, size // 2)
    raises(ValueError, "Process is not part of", other.rank)
    x = torch.full((3,), float(rank))
    total = float(sum(mine.ranks))
    assert hvd.allreduce(x, op=hvd.Sum, process_set=mine).tolist() == [total] * 3
    assert hvd.allreduce(x, process_set=mine)[0] == total / mine.size()
    gathered = hvd.allgather(torch.tensor([rank]), process_set=mine)
    assert gathered.tolist() == mine.ranks
    root = mine.ranks[-1]  # a rank of the job
    assert hvd.broadcast(x, root, process_set=mine)[0] == root
    assert hvd.alltoall(
        torch.full((mine.size(),), rank), process_set=mine
    ).tolist() == (mine.ranks)
    assert hvd.reducescatter(torch.ones(mine.size()), process_set=mine).item() == 1
    assert hvd.allgather_object(rank, process_set=mine) == mine.ranks
    assert hvd.broadcast_object(rank, root, process_set=mine) == root
    hvd.barrier(process_set=mine)
    raises(ValueError, "is not part of", hvd.allreduce, x, process_set=other)
    raises(ValueError, "root_rank", hvd.broadcast, x, other.ranks[0], process_set=mine)
    assert all(hvd.remove_process_set(half) for half in halves)
    assert mine.process_set_id is None
    raises(ValueError, "has not been made", hvd.allreduce, x, process_set=mine)


def check_sets_that_cannot_be(rank, size):
    del rank
    raises(ValueError, "already", hvd.add_process_set, range(size))
    raises(ValueError, "its ranks are of", hvd.add_process_set, [size])
    raises(ValueError, "its ranks are of", hvd.add_process_set, [])
    raises(ValueError, "whole numbers", hvd.ProcessSet, [0.5])
    raises(ValueError, "whole numbers", hvd.ProcessSet, 1)
    assert hvd.remove_process_set(hvd.ProcessSet([0])) is False


def check_a_set_that_has_not_been_made(rank, size):
    del size
    one = hvd.ProcessSet([0])
    assert (one.process_set_id, one.mpi_comm) == (None, None)
    assert (one.size(), one.rank(), one.included()) == (None, None, rank == 0)
    weight = torch.nn.Parameter(torch.zeros(1))
    sgd = torch.optim.SGD([weight], lr=1.0)
    optimizer = hvd.DistributedOptimizer(sgd, process_set=one)
    raises(ValueError, "has not been made", weight.sum().backward)
    raises(ValueError, "has not been made", optimizer.step)


def check_optimizer_of_a_set(rank, size):
    if size < 4:
        return
    half = hvd.add_process_set([1, 2])
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([weight], lr=1.0), process_set=half
    )
    (weight * (rank + 1)).sum().backward()
    optimizer.step()
    assert weight.item() == (-2.5 if rank in (1, 2) else -(rank + 1))
    hvd.remove_process_set(half)


def check_join(rank, size):
    """Rank r has r + 1 batches."""
    for step in range(rank + 1):
        left = [r for r in range(size) if r >= step]
        x = torch.full((2,), float(rank))
        assert hvd.allreduce(x, op=hvd.Sum).tolist() == [sum(left)] * 2
        mean = sum(left) / len(left)
        assert hvd.allreduce(x, name="mean").tolist() == pytest.approx([mean] * 2)
        assert hvd.allreduce(x, op=hvd.Min)[0] == left[0]
        assert hvd.allreduce(-x, op=hvd.Max)[0] == -left[0]
        two = torch.full((1,), 2, dtype=torch.int32)
        assert hvd.allreduce(two, op=hvd.Product).item() == 2 ** len(left)
        halves = hvd.grouped_allreduce([x.half(), x], compression=hvd.Compression.fp16)
        assert halves[1].tolist() == pytest.approx([mean] * 2)
        assert hvd.allgather(torch.tensor([rank])).tolist() == left
        assert hvd.broadcast(x, size - 1)[0] == size - 1
        sparse = torch.sparse_coo_tensor([[rank]], torch.ones(1), (size,))
        mine = hvd.allreduce(sparse).to_dense()
        assert mine.tolist() == pytest.approx(
            [1 / len(left) if r in left else 0 for r in range(size)]
        )
        if len(left) < size:
            text = "has joined"
            raises(hvd.HorovodInternalError, text, hvd.broadcast, x, 0)
            raises(hvd.HorovodInternalError, text, hvd.alltoall, torch.ones(size))
            raises(hvd.HorovodInternalError, text, hvd.allreduce, x, op=hvd.Adasum)
    assert hvd.join() == size - 1
    # All are back.
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
    for last in range(size):
        if rank == last:
            hvd.synchronize(hvd.allreduce_async(torch.ones(1)))
        if rank != last and size > 1:
            assert hvd.join() == last
        else:
            _wait_for_the_others(size)
            assert hvd.join(device=-1) == last


def _wait_for_the_others(size):
    """An average over one rank is over that rank: the others have joined."""
    own = float(hvd.rank())
    while size > 1 and hvd.allreduce(torch.tensor([own + 1]), op=hvd.Sum) != own + 1:
        pass


def check_dtypes_with_join(rank, size):
    """Means of 16-bit floats that are too large to be added up, and bools."""
    if rank > 0:
        big = torch.full((2,), 60000.0, dtype=torch.float16)
        assert hvd.allreduce(big).tolist() == pytest.approx([60000.0] * 2, rel=1e-2)
        for value in (True, False):
            for op in (hvd.Min, hvd.Max):
                assert hvd.allreduce(torch.tensor(value), op=op).item() is value
        assert hvd.allreduce(torch.tensor([-5]), op=hvd.Average).item() == -5
    assert hvd.join() in range(size)


def check_reducescatter_with_join(rank, size):
    if rank == 0:
        rows = torch.arange(float(size))
        assert hvd.reducescatter(rows).tolist() == [0.0]
    hvd.join()


@pytest.fixture(scope="module", params=[1, 2, 4])
def ranks(request):
    return horovod_ranks.Checks(request.param, __name__)


@pytest.mark.parametrize("check", horovod_ranks.names(__name__))
def test(ranks, check):
    ranks.verify(check)
