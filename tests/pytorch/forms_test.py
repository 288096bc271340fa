"""The less usual forms of the collectives: coalesced, scaled, of other dtypes, of
tensors that are not contiguous, of objects; and their names in a profile."""

import datetime

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from collectives_test import ALL, REAL, SIZES, numbers, same, total
from torch_ranks import run


def _coalescing_manager(rank, size):
    xs = [numbers(rank), numbers(rank, count=3)]
    with dist._coalescing_manager():
        for x in xs:
            dist.all_reduce(x)
    same(xs[1], total(size, count=3))
    outs = [torch.empty(size), torch.empty(2 * size)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for i, out in enumerate(outs):
            dist.all_gather_single(out, torch.full((i + 1,), float(rank)))
    manager.wait()
    same(outs[1], torch.arange(size).repeat_interleave(2).float())
    outs = [torch.empty(1), torch.empty(2)]
    with dist._coalescing_manager():
        for i, out in enumerate(outs):
            dist.reduce_scatter_single(out, torch.ones((i + 1) * size))
    same(outs[1], torch.full((2,), float(size)))


def _dtypes(rank, size):
    for dtype in [*REAL, torch.uint16, torch.uint32, torch.uint64]:
        parts = [numbers(rank + r, dtype) for r in range(size)]
        x = torch.empty(6, dtype=dtype)
        dist.reduce_scatter(x, parts)
        expected = sum(numbers(r + rank, torch.float64) for r in range(size))
        same(x, expected.to(dtype))
    x = torch.complex(numbers(rank), -numbers(rank))
    dist.reduce(x, 0)
    if rank == 0:
        same(x, torch.complex(total(size), -total(size)))
    x = torch.tensor([rank == 0, False])
    dist.reduce(x, 0)
    if rank == 0:
        same(x, torch.tensor([True, False]))
    for dtype in ALL:
        x = numbers(rank, dtype, size)
        y = torch.empty_like(x)
        dist.all_to_all_single(y, x)
        every = [numbers(r, dtype, size)[rank : rank + 1] for r in range(size)]
        same(y, torch.cat(every))


def _premultiplied(rank, size):
    half = dist._make_nccl_premul_sum(0.5)
    x = numbers(rank)
    dist.reduce(x, 0, half)
    if rank == 0:
        same(x, total(size) * 0.5)
    x = torch.empty(6)
    dist.reduce_scatter(x, [numbers(rank)] * size, half)
    same(x, total(size) * 0.5)
    xs = [numbers(rank), numbers(rank, count=2)]
    dist.all_reduce_coalesced(xs, half)
    same(xs[1], total(size, count=2) * 0.5)


def _not_contiguous(rank, size):
    def table(r):
        return numbers(r, count=24).reshape(4, 6).t()

    def empty():
        return torch.zeros(4, 12)[:, ::2].t()

    x = table(rank)
    dist.broadcast(x, size - 1)
    same(x, table(size - 1))
    got = [empty() for _ in range(size)] if rank == 0 else None
    dist.gather(table(rank), got, dst=0)
    for r, one in enumerate(got or []):
        same(one, table(r))
    x = empty()
    dist.scatter(x, [table(r) for r in range(size)] if rank == 0 else None, src=0)
    same(x, table(rank))
    x = empty()
    dist.reduce_scatter(x, [table(rank + r) for r in range(size)])
    same(x, sum(table(r + rank) for r in range(size)))
    got = [empty() for _ in range(size)]
    dist.all_to_all(got, [table(rank + r) for r in range(size)])
    for r, one in enumerate(got):
        same(one, table(r + rank))


def _objects(rank, size):
    got = [None] * size if rank == 0 else None
    dist.gather_object({"rank": rank}, got, dst=0)
    assert rank > 0 or got == [{"rank": r} for r in range(size)]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)], src=0)
    assert mine == [f"for {rank}"]
    if size > 1:
        if rank == 0:
            dist.send_object_list(["a", {1: 2}], dst=1)
        elif rank == 1:
            got = [None, None]
            dist.recv_object_list(got, src=0)
            assert got == ["a", {1: 2}]


def _titles(rank, size):
    peer = rank ^ 1
    with torch.profiler.profile() as profile:
        x, many = torch.ones(1), [torch.ones(1) for _ in range(size)]
        flat = torch.ones(size)
        dist.all_reduce_coalesced([x])
        dist.reduce(x, 0)
        dist.all_gather(many, x)
        dist.all_gather_into_tensor(flat, x)
        dist.reduce_scatter(x, many)
        dist.reduce_scatter_tensor(x, flat)
        dist.gather(x, many if rank == 0 else None)
        dist.scatter(x, many if rank == 0 else None)
        dist.all_to_all_single(flat.clone(), flat)
        dist.barrier()
        if size > 1:
            works = [dist.isend(x, peer), dist.irecv(torch.ones(1), peer)]
            for work in works:
                work.wait()
    names = {event.name for event in profile.events()}
    titles = ["all_reduce", "reduce", "all_gather", "reduce_scatter", "gather"]
    titles += ["scatter", "all_to_all", "barrier"] + ["send", "recv"] * (size > 1)
    missing = {f"rondo:{title}" for title in titles} - names
    assert not missing, (missing, sorted(n for n in names if n.startswith("rondo")))


def _sparse_dtypes(rank, size):
    for dtype in (torch.float64, torch.bfloat16, torch.int32, torch.complex64):
        values = torch.ones(2, dtype=dtype)
        x = torch.sparse_coo_tensor([[rank, size]], values, (size + 1,))
        # dist.all_reduce hands a copy of a complex one to the backend.
        dist.group.WORLD.allreduce([x]).wait()
        expected = torch.ones(size + 1, dtype=dtype)
        expected[size] = size
        same(x.to_dense(), expected)
    with pytest.raises(ValueError, match="[Ss]parse"):
        dist.all_reduce(torch.eye(2).to_sparse(), dist.ReduceOp.MAX)
    dist.all_reduce(torch.ones(1))


def _monitored(rank, size):
    rondo.torch.monitored_barrier()
    rondo.torch.monitored_barrier(
        timeout=datetime.timedelta(seconds=60), wait_all_ranks=True
    )


def _groups_of_groups(rank, size):
    mine, every = dist.new_subgroups(max(1, size // 2))
    assert len(every) == (2 if size > 1 else 1)
    x = torch.ones(1)
    dist.all_reduce(x, group=mine)
    assert x.item() == max(1, size // 2)


BODIES = [
    _coalescing_manager,
    _dtypes,
    _premultiplied,
    _not_contiguous,
    _objects,
    _titles,
    _sparse_dtypes,
    _monitored,
    _groups_of_groups,
]


def _all(rank, size):
    """In one job: starting ranks takes longer than most of these."""
    for body in BODIES:
        try:
            body(rank, size)
        except BaseException as error:
            error.add_note(f"in {body.__name__[1:]}")
            raise
        dist.barrier()


@SIZES
def test_forms(size):
    run(size, _all)
