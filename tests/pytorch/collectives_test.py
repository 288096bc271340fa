"""Each collective of the backend, on 1, 2 and 4 ranks."""

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from torch_ranks import run

SIZES = pytest.mark.parametrize("size", [1, 2, 4])

REAL = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
]
ALL = [
    *REAL,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float8_e4m3fn,
]


def numbers(rank, dtype=torch.float32, count=6):
    """Small whole numbers that differ from rank to rank."""
    values = torch.arange(count) % 5 + rank
    return (values % 2 == 0) if dtype == torch.bool else values.to(dtype)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
    # Not all operations exist for all dtypes; the bytes do.
    a, b = (x.contiguous().view(torch.uint8) for x in (a, b))
    assert torch.equal(a, b), (a, b)


def total(size, dtype=torch.float32, count=6):
    return sum(numbers(r, torch.float64, count) for r in range(size)).to(dtype)


def _all_reduce(rank, size):
    for dtype in REAL:
        x = numbers(rank, dtype)
        dist.all_reduce(x)
        same(x, total(size, dtype))
    every = [numbers(r, torch.float64) for r in range(size)]
    for op, expected in [
        (dist.ReduceOp.MAX, torch.stack(every).amax(0)),
        (dist.ReduceOp.MIN, torch.stack(every).amin(0)),
        (dist.ReduceOp.PRODUCT, torch.stack(every).prod(0)),
        (dist.ReduceOp.AVG, torch.stack(every).mean(0)),
    ]:
        x = numbers(rank, torch.float64)
        dist.all_reduce(x, op)
        torch.testing.assert_close(x, expected)
    for op, function in [
        (dist.ReduceOp.BAND, torch.bitwise_and),
        (dist.ReduceOp.BOR, torch.bitwise_or),
        (dist.ReduceOp.BXOR, torch.bitwise_xor),
    ]:
        x = numbers(rank, torch.int32)
        expected = numbers(0, torch.int32)
        for r in range(1, size):
            expected = function(expected, numbers(r, torch.int32))
        dist.all_reduce(x, op)
        same(x, expected)


def _all_reduce_odd_dtypes(rank, size):
    x = torch.complex(numbers(rank), -numbers(rank))
    dist.all_reduce(x)
    same(x, torch.complex(total(size), -total(size)))
    x = torch.tensor([rank == 0, False, True])
    dist.all_reduce(x)
    same(x, torch.tensor([True, False, True]))
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        x = numbers(rank, dtype)
        dist.all_reduce(x)
        same(x, total(size, dtype))
    x = numbers(rank)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    same(x, total(size) * 0.5)
    x = numbers(rank)
    dist.all_reduce(x, dist._make_nccl_premul_sum(torch.tensor([2.0])))
    same(x, total(size) * 2)


def _all_reduce_shapes(rank, size):
    for count in (0, 1, 7, 100_000, 3_000_001):
        x = torch.full((count,), float(rank))
        dist.all_reduce(x)
        same(x, torch.full((count,), float(sum(range(size)))))
    x = numbers(rank, count=24).reshape(4, 6)
    expected = total(size, count=24).reshape(4, 6)
    for view in (lambda t: t.t(), lambda t: t[::2, 1::2], lambda t: t[:, 0]):
        y = x.clone()
        dist.all_reduce(view(y))
        same(view(y), view(expected))
        # What lies between the view's elements stays.
        z = x.clone()
        view(z).copy_(view(expected))
        same(y, z)
    x = rondo.torch.empty(5)
    assert rondo.torch.is_mapped(x) and not rondo.torch.is_mapped(torch.empty(5))
    x.fill_(rank)
    dist.all_reduce(x)
    same(x, torch.full((5,), float(sum(range(size)))))


def _all_reduce_coalesced(rank, size):
    xs = [numbers(rank), numbers(rank, count=24).reshape(4, 6).t()]
    dist.all_reduce_coalesced(xs)
    same(xs[0], total(size))
    same(xs[1], total(size, count=24).reshape(4, 6).t())


def _sparse(rank, size):
    indices = torch.tensor([[0, rank + 1, rank + 1], [1, 0, 0]])
    x = torch.sparse_coo_tensor(indices, torch.tensor([1.0, 2.0, 3.0]), (8, 2))
    expected = torch.zeros(8, 2)
    for r in range(size):
        expected[0, 1] += 1
        expected[r + 1, 0] += 5
    dist.all_reduce(x)
    same(x.to_dense(), expected)
    x = torch.sparse_coo_tensor([[0]], [5], (4,))
    dist.all_reduce(x, dist.ReduceOp.AVG)
    same(x.to_dense(), torch.tensor([5, 0, 0, 0]))
    # One rank has nothing to add, and values are rows.
    mine = 0 if rank == 0 else 2
    x = torch.sparse_coo_tensor(
        torch.arange(mine).reshape(1, -1), torch.ones(mine, 3), (4, 3)
    )
    dist.all_reduce(x)
    expected = torch.zeros(4, 3)
    expected[:2] = size - 1
    same(x.to_dense(), expected)


def _moves(rank, size):
    for dtype in ALL:
        x = numbers(rank, dtype)
        dist.broadcast(x, size - 1)
        same(x, numbers(size - 1, dtype))
        every = [numbers(r, dtype) for r in range(size)]
        got = [torch.empty_like(x) for _ in range(size)]
        dist.all_gather(got, numbers(rank, dtype))
        for a, b in zip(got, every, strict=True):
            same(a, b)
        flat = torch.empty(6 * size, dtype=dtype)
        dist.all_gather_into_tensor(flat, numbers(rank, dtype))
        for a, b in zip(flat.chunk(size), every, strict=True):
            same(a, b)
        got = [torch.empty_like(x) for _ in range(size)] if rank == 0 else None
        dist.gather(numbers(rank, dtype), got, dst=0)
        for a, b in zip(got or [], every, strict=False):
            same(a, b)
        x = torch.empty_like(x)
        dist.scatter(x, every if rank == size - 1 else None, src=size - 1)
        same(x, every[rank])


def _reduce(rank, size):
    for dtype in REAL:
        x = numbers(rank, dtype)
        dist.reduce(x, size - 1)
        same(x, total(size, dtype) if rank == size - 1 else numbers(rank, dtype))
    x = numbers(rank, count=24).reshape(4, 6).t()
    dist.reduce(x, 0)
    if rank == 0:
        same(x, total(size, count=24).reshape(4, 6).t())


def _reduce_scatter(rank, size):
    parts = [numbers(rank + r, count=5) for r in range(size)]
    expected = sum(numbers(r + rank, count=5) for r in range(size))
    x = torch.empty(5)
    dist.reduce_scatter(x, parts)
    same(x, expected)
    x = torch.empty(5)
    dist.reduce_scatter_tensor(x, torch.cat(parts))
    same(x, expected)
    # Uneven, as a list.
    parts = [numbers(rank + r, count=5 + r) for r in range(size)]
    x = torch.empty(5 + rank)
    dist.reduce_scatter(x, parts, op=dist.ReduceOp.AVG)
    torch.testing.assert_close(
        x, sum(numbers(r + rank, count=5 + rank) for r in range(size)) / size
    )


def _all_gather_forms(rank, size):
    got = [torch.empty(3 + r) for r in range(size)]
    dist.all_gather(got, numbers(rank, count=3 + rank))  # uneven
    for r in range(size):
        same(got[r], numbers(r, count=3 + r))
    got = [torch.empty(4, 6).t() for _ in range(size)]  # not contiguous
    dist.all_gather(got, numbers(rank, count=24).reshape(6, 4))
    for r in range(size):
        same(got[r], numbers(r, count=24).reshape(6, 4))
    lists = [[torch.empty(6), torch.empty(2)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [numbers(rank), numbers(rank, count=2)])
    for r in range(size):
        same(lists[r][0], numbers(r))
        same(lists[r][1], numbers(r, count=2))
    outs = [torch.empty(6 * size), torch.empty(2 * size)]
    backend = dist.group.WORLD
    backend.allgather_into_tensor_coalesced(
        outs, [numbers(rank), numbers(rank, count=2)]
    ).wait()
    same(outs[1], torch.cat([numbers(r, count=2) for r in range(size)]))
    outs = [torch.empty(2), torch.empty(1)]
    backend.reduce_scatter_tensor_coalesced(
        outs, [torch.ones(2 * size), torch.ones(size)]
    ).wait()
    same(outs[0], torch.full((2,), float(size)))


def _all_to_all(rank, size):
    for dtype in (torch.float32, torch.complex64, torch.bool, torch.int64):
        # Rank s sends `s * size + r` to rank r.
        x = torch.arange(size).add(rank * size).to(dtype)
        y = torch.empty_like(x)
        dist.all_to_all_single(y, x)
        same(y, torch.arange(size).mul(size).add(rank).to(dtype))
    # r + 1 rows for rank r.
    send = [r + 1 for r in range(size)]
    x = torch.full((sum(send), 2), float(rank))
    y = torch.empty((rank + 1) * size, 2)
    dist.all_to_all_single(y, x, [rank + 1] * size, send)
    same(y, torch.arange(size).repeat_interleave(rank + 1).float().repeat(2, 1).t())
    inputs = [torch.full((r + 1,), float(rank)) for r in range(size)]
    outputs = [torch.empty(rank + 1) for _ in range(size)]
    dist.all_to_all(outputs, inputs)
    for r in range(size):
        same(outputs[r], torch.full((rank + 1,), float(r)))


def _async(rank, size):
    xs = [numbers(rank) for _ in range(20)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for work, x in zip(works, xs, strict=True):
        work.wait()
        assert work.is_completed() and work.is_success()
        same(x, total(size))
    work = dist.all_reduce(numbers(rank), async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    same(doubled.wait(), total(size) * 2)
    # A blocking call behind asynchronous ones keeps their order.
    x = numbers(rank)
    works = [dist.broadcast(x, 0, async_op=True), dist.all_reduce(x, async_op=True)]
    dist.all_reduce(x)
    for work in works:
        work.wait()
    same(x, numbers(0) * size * size)
    dist.barrier()
    work = dist.barrier(async_op=True)
    work.wait()


def _blocking(rank, size):
    """What is over when the call returns needs no work."""
    options = dist.AllreduceOptions()
    options.asyncOp = False
    x = numbers(rank)
    assert dist.group.WORLD.allreduce([x], options) is None
    same(x, total(size))


def _profile(rank, size):
    x = numbers(rank)
    with torch.profiler.profile(record_shapes=True) as profile:
        dist.all_reduce(x)
        dist.broadcast(x, 0, async_op=True).wait()
    events = {event.name: event for event in profile.events()}
    for title in ("rondo:all_reduce", "rondo:broadcast"):
        assert events[title].is_async, title
        assert events[title].input_shapes == [list(x.shape)], title


def _groups(rank, size):
    halves = [list(range(size // 2)), list(range(size // 2, size))]
    groups = [dist.new_group(ranks) for ranks in halves if ranks]
    mine = [g for g in groups if g != dist.GroupMember.NON_GROUP_MEMBER]
    for group in mine:
        x = torch.ones(3)
        dist.all_reduce(x, group=group)
        same(x, torch.full((3,), float(dist.get_world_size(group))))
    backwards = dist.new_group(list(reversed(range(size))), sort_ranks=False)
    assert dist.get_rank(backwards) == size - 1 - rank
    x = torch.tensor([float(rank)])
    dist.broadcast(x, src=size - 1, group=backwards)
    same(x, torch.tensor([size - 1.0]))
    half = list(range((size + 1) // 2))
    part = dist.group.WORLD.split_group(half, group_name="half", opts=None)
    assert (part is None) == (rank not in half)
    if part is not None:
        x = torch.ones(3)
        part.allreduce([x]).wait()
        same(x, torch.full((3,), float(len(half))))
    for group in mine:
        dist.destroy_process_group(group)


def _objects(rank, size):
    got = [None] * size
    dist.all_gather_object(got, {"rank": rank})
    assert got == [{"rank": r} for r in range(size)]
    one = [("from", rank)]
    dist.broadcast_object_list(one, 0)
    assert one == [("from", 0)]


BODIES = [
    _all_reduce,
    _all_reduce_odd_dtypes,
    _all_reduce_shapes,
    _all_reduce_coalesced,
    _sparse,
    _moves,
    _reduce,
    _reduce_scatter,
    _all_gather_forms,
    _all_to_all,
    _async,
    _blocking,
    _profile,
    _groups,
    _objects,
]


@SIZES
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__[1:])
def test_collective(size, body):
    run(size, body)


def _many_groups(rank, size):
    import os

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def cycle():
        group = dist.new_group(list(range(size)))
        dist.barrier(group)
        dist.destroy_process_group(group)

    cycle()
    before = descriptors()
    for _ in range(20):
        cycle()
    dist.barrier()
    assert descriptors() <= before + 8, (before, descriptors())


def test_groups_leave_no_descriptors():
    run(2, _many_groups)
