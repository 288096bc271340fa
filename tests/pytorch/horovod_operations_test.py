"""Horovod's operations: values, gradients, order, and errors, on 1, 2, 4 ranks."""

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
from horovod_ranks import raises
from rondo.torch.horovod import execution
from rondo.torch.horovod.request import Request

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
WHOLES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def check_who_and_where(rank, size):
    assert (hvd.rank(), hvd.size()) == (rank, size)
    assert (hvd.local_rank(), hvd.local_size()) == (rank, size)
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)
    assert hvd.is_initialized() and hvd.is_homogeneous()
    assert hvd.gloo_built() and hvd.gloo_enabled()
    for no in (hvd.mpi_built, hvd.mpi_enabled, hvd.cuda_built, hvd.rocm_built):
        assert no() is False
    assert hvd.nccl_built() == 0 and hvd.mpi_threads_supported() is False
    hvd.init()  # a second one changes nothing
    assert hvd.rank() == rank


def check_allreduce(rank, size):
    total = sum(range(1, size + 1))
    for dtype in FLOATS + WHOLES:
        x = torch.full((3, 2), rank + 1, dtype=dtype)
        assert torch.equal(hvd.allreduce(x, op=hvd.Sum), torch.full_like(x, total))
        mean = torch.full_like(
            x, int(total / size) if dtype in WHOLES else total / size
        )
        assert torch.equal(hvd.allreduce(x), mean), dtype
        assert torch.equal(hvd.allreduce(x, op=hvd.Max), torch.full_like(x, size))
        assert torch.equal(hvd.allreduce(x, op=hvd.Min), torch.ones_like(x))
        assert torch.equal(x, torch.full_like(x, rank + 1))
    x = torch.tensor([2.0, rank + 1.0])
    product = hvd.allreduce(x, op=hvd.Product)
    assert product.tolist() == [2.0**size, float(torch.arange(1, size + 1).prod())]


def check_what_cannot_be_reduced(rank, size):
    """An error before the others hear of it, and nothing else fails."""
    del rank
    no = torch.tensor([True])
    text = raises(ValueError, "op Average is not defined", hvd.allreduce, no)
    assert "torch.bool, for which there is Sum, Min, Max, Product" in text
    assert hvd.allreduce(no, op=hvd.Min).item() is True
    z = torch.ones(1, dtype=torch.complex64)
    assert hvd.allreduce(z, op=hvd.Sum).item() == size
    for x, op in (
        (z, hvd.Max),
        (torch.ones(1).int(), hvd.Adasum),
        (torch.ones(1).to(torch.uint16), hvd.Min),
        (torch.ones(1).to(torch.float8_e5m2), hvd.Sum),
    ):
        raises(ValueError, f"op {op.name} is not defined", hvd.allreduce, x, op=op)
    raises(ValueError, "not defined", hvd.reducescatter, no.repeat(size))
    raises(ValueError, "not defined", hvd.grouped_allreduce, [torch.ones(1), no])
    whole = torch.ones(2, dtype=torch.int32).to_sparse()
    average = (whole, "x", hvd.Average)
    raises(ValueError, "no average", hvd.sparse_allreduce_async, *average)
    raises(ValueError, "op is 'Sum'; there are Average, ", hvd.allreduce, z, op="Sum")
    raises(ValueError, "op is 6; there are Average, ", hvd.allreduce, z, op=6)
    assert hvd.allreduce(z, op=1).item() == size
    same = torch.ones(1).expand(3)
    for function, args in (
        (hvd.allreduce_, (same,)),
        (hvd.broadcast_, (same, 0)),
        (hvd.grouped_allreduce_, ([same],)),
    ):
        raises(ValueError, "share memory", function, *args)
    assert hvd.allreduce(same, op=hvd.Sum).tolist() == [size] * 3


def test_averages_over_those_that_have_not_joined():
    request = Request("allreduce", "x", op="Average", prescale=2.0, postscale=3.0)
    whole = execution._Reduction(request._replace(prescale=1.0, postscale=1.0), 49, 50)
    x = torch.tensor([49, -49, 50, 97, 98])
    whole.begin(x)
    whole.end(x)
    assert whole.op == "Sum" and x.tolist() == [1, -1, 1, 1, 2]
    half = execution._Reduction(request, 4, 5)
    x = torch.full((1,), 60000.0, dtype=torch.float16)
    half.begin(x)
    assert x.item() == 30000.0
    half.end(x)
    assert x.isinf().item()  # by the postscale
    assert execution._Reduction(request, 5, 5).op == "Average"


def check_average_argument(rank, size):
    x = torch.ones(2) * rank
    with pytest.warns(DeprecationWarning):
        assert hvd.allreduce(x, average=False)[0] == sum(range(size))
    with pytest.warns(DeprecationWarning):
        assert hvd.allreduce(x, average=True)[0] == sum(range(size)) / size
    raises(ValueError, "supersedes", hvd.allreduce, x, average=True, op=hvd.Sum)
    raises(ValueError, "there are Average", hvd.allreduce, x, op="sum")


def check_scales(rank, size):
    del rank
    options = {"op": hvd.Sum, "prescale_factor": 0.5, "postscale_factor": 3.0}
    assert hvd.allreduce(torch.ones(3), **options).tolist() == [1.5 * size] * 3
    whole = hvd.allreduce(torch.full((2,), 5), **options)
    assert whole.tolist() == [int(2 * size * 3.0)] * 2  # 2.5 becomes 2
    mean = hvd.allreduce(torch.ones(3), postscale_factor=4.0)
    assert mean.tolist() == [4.0] * 3


def check_in_place(rank, size):
    x = torch.ones(4, 4)
    assert hvd.allreduce_(x, op=hvd.Sum) is x and x[0, 0] == size
    columns = torch.ones(4, 4)
    hvd.allreduce_(columns[:, 1], op=hvd.Sum)
    assert columns[:, 1].tolist() == [size] * 4 and columns[0, 0] == 1
    parameter = torch.nn.Parameter(torch.ones(2) * rank)
    assert hvd.broadcast_(parameter, size - 1) is parameter
    assert parameter.tolist() == [size - 1] * 2


def check_adasum(rank, size):
    # Orthogonal ones are added, parallel ones averaged.
    x = torch.zeros(size)
    x[rank] = rank + 1.0
    sums = torch.arange(1.0, size + 1)
    assert torch.allclose(hvd.allreduce(x, op=hvd.Adasum), sums)
    same = torch.tensor([1.0, -2.0])
    assert torch.allclose(hvd.allreduce(same, op=hvd.Adasum), same)
    assert hvd.allreduce(torch.zeros(3), op=hvd.Adasum).tolist() == [0.0] * 3


def check_compression(rank, size):
    mean = (size - 1) / 2
    for one in (hvd.Compression.none, hvd.Compression.fp16, hvd.Compression.bf16):
        x = torch.full((5,), float(rank))
        y = hvd.allreduce(x, compression=one)
        assert y.dtype == torch.float32 and y.tolist() == [mean] * 5
        whole = hvd.allreduce(torch.tensor([rank]), compression=one, op=hvd.Sum)
        assert whole.dtype == torch.int64 and whole.item() == sum(range(size))
    # More than a float16 can say: the mean of 16-bit floats is no sum first.
    big = hvd.allreduce(torch.full((2,), 60000.0), compression=hvd.Compression.fp16)
    assert big.tolist() == [60000.0 - 60000.0 % 32] * 2


def check_other_order(rank, size):
    names = [f"tensor {i}" for i in range(20)]
    mine = names if rank % 2 == 0 else names[::-1]
    handles = {
        name: hvd.allreduce_async(
            torch.full((4,), float(names.index(name))), name=name, op=hvd.Sum
        )
        for name in mine
    }
    for i, name in enumerate(names):
        assert hvd.synchronize(handles[name]).tolist() == [i * size] * 4


def check_handles(rank, size):
    del rank
    x = torch.ones(3)
    handle = hvd.allreduce_async_(x, op=hvd.Sum)
    assert isinstance(hvd.poll(handle), bool)
    assert hvd.synchronize(handle) is x and x[0] == size
    assert hvd.synchronize(handle) is None
    raises(ValueError, "has been synchronized", hvd.poll, handle)


def check_grouped_allreduce(rank, size):
    tensors = [torch.full((i,), rank, dtype=FLOATS[i % 2]) for i in range(1, 5)]
    results = hvd.grouped_allreduce(tensors, op=hvd.Sum, name="group")
    assert [x.tolist() for x in results] == [
        [sum(range(size))] * i for i in range(1, 5)
    ]
    given = hvd.grouped_allreduce_(tensors, op=hvd.Sum)
    assert isinstance(results, list) and isinstance(given, tuple)  # as in Horovod
    assert all(a is b for a, b in zip(given, tensors, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(given, results, strict=True))
    handle = hvd.grouped_allreduce_async(tensors)
    assert torch.equal(hvd.synchronize(handle)[3], results[3])
    raises(ValueError, "is empty", hvd.grouped_allreduce, [])
    handle = hvd.grouped_allreduce_async(x for x in tensors)
    assert len(hvd.synchronize(handle)) == 4


def check_allgather(rank, size):
    rows = [[r, r] for r in range(size) for _ in range(r)]
    for dtype in [*FLOATS, *WHOLES, torch.bool, torch.complex64]:
        got = hvd.allgather(torch.full((rank, 2), rank, dtype=dtype))
        assert torch.equal(got, torch.tensor(rows, dtype=dtype).reshape(-1, 2)), dtype
    both = hvd.grouped_allgather([torch.tensor([rank]), torch.ones(2, 1)])
    assert isinstance(both, tuple)
    one, two = both
    assert one.tolist() == list(range(size)) and two.shape == (2 * size, 1)
    handle = hvd.allgather_async(torch.tensor([rank]), name="gather")
    assert hvd.synchronize(handle).tolist() == list(range(size))
    raises(ValueError, "no rows", hvd.allgather, torch.tensor(1.0))


def check_broadcast(rank, size):
    for root in range(size):
        for dtype in [*FLOATS, *WHOLES, torch.bool]:
            x = torch.full((3,), rank == root, dtype=dtype)
            assert hvd.broadcast(x, root).all(), dtype
            assert bool(x.all()) == (rank == root)
    x = torch.ones(2) * rank
    assert hvd.synchronize(hvd.broadcast_async_(x, 0)) is x and x[0] == 0
    assert hvd.synchronize(hvd.broadcast_async(x, 0, "cast")).tolist() == [0, 0]
    raises(ValueError, "root_rank", hvd.broadcast, x, size)


def check_alltoall(rank, size):
    x = torch.arange(2 * size) + 100 * rank
    expected = [100 * r + 2 * rank + i for r in range(size) for i in range(2)]
    assert hvd.alltoall(x).tolist() == expected
    # Rank r sends i rows to rank i, and has one row more than it sends.
    rows = sum(range(size)) + 1
    x = torch.full((rows, 2), float(rank))
    got, received = hvd.alltoall(x, splits=torch.arange(size))
    assert received.tolist() == [rank] * size
    assert got[:, 0].tolist() == [r for r in range(size) for _ in range(rank)]
    handle = hvd.alltoall_async(torch.ones(size), splits=[1] * size)
    assert hvd.synchronize(handle)[1].tolist() == [1] * size
    got, received = hvd.synchronize(hvd.alltoall_async(torch.ones(size)))
    assert got.tolist() == [1.0] * size
    assert received.tolist() == [1] * size and received.dtype == torch.int32
    _, received = hvd.alltoall(torch.ones(size), torch.ones(size, dtype=torch.int64))
    assert received.dtype == torch.int64
    raises(ValueError, "splits is", hvd.alltoall, x, [rows + 1] + [0] * (size - 1))
    raises(ValueError, "splits is", hvd.alltoall, x, [0] * (size + 1))
    raises(ValueError, "whole numbers", hvd.alltoall, x, [1.0] * size)
    if size > 1:
        raises(ValueError, "evenly", hvd.alltoall, torch.ones(size + 1))


def check_reducescatter(rank, size):
    rows = torch.arange(size + 1.0)  # the first rank gets two
    expected = rows.split([2] + [1] * (size - 1))[rank]
    assert torch.equal(hvd.reducescatter(rows), expected)
    assert torch.equal(hvd.reducescatter(rows, op=hvd.Sum), expected * size)
    assert torch.equal(
        hvd.reducescatter(rows, prescale_factor=2.0, postscale_factor=3.0), expected * 6
    )
    one, two = hvd.grouped_reducescatter([rows, torch.ones(size, 3)], op=hvd.Sum)
    assert torch.equal(one, expected * size)
    assert torch.equal(two, torch.full((1, 3), float(size)))
    handle = hvd.reducescatter_async(rows, name="scatter")
    assert torch.equal(hvd.synchronize(handle), expected)
    found = hvd.synchronize(hvd.grouped_reducescatter_async([rows]))
    assert isinstance(found, tuple) and torch.equal(found[0], expected)
    raises(ValueError, "Adasum", hvd.reducescatter, rows, op=hvd.Adasum)


def check_sparse(rank, size):
    # Row 0 on all ranks, and a row of each rank's own.
    index = torch.tensor([[0, rank + 1]])
    x = torch.sparse_coo_tensor(index, torch.ones(2, 3) * 2, (size + 1, 3))
    dense = torch.full((size + 1, 3), 2.0)
    dense[0] = 2.0 * size
    handle = hvd.sparse_allreduce_async(x, "sparse", hvd.Sum)
    assert torch.equal(handle().to_dense(), dense)
    assert torch.equal(hvd.allreduce(x).to_dense(), dense / size)
    raises(ValueError, "sparse_coo", hvd.sparse_allreduce_async, dense, "x", op=hvd.Sum)
    raises(ValueError, "Average or Sum", hvd.sparse_allreduce_async, x, "x", hvd.Max)


def check_gradients(rank, size):
    x = torch.ones(size, 2, requires_grad=True)

    def gradient(y, factor=1.0):
        (y * factor).sum().backward()
        found, x.grad = x.grad, None
        return found[0, 0].item()

    assert gradient(hvd.allreduce(x, op=hvd.Sum)) == size
    assert gradient(hvd.allreduce(x, prescale_factor=3.0)) == 3
    assert gradient(hvd.grouped_allreduce([x, x.detach()], op=hvd.Sum)[0]) == size
    assert gradient(hvd.allgather(x), rank + 1.0) == (size + 1) / 2
    assert gradient(hvd.broadcast(x, 0)) == (1 if rank == 0 else 0)
    assert gradient(hvd.alltoall(x), rank + 1.0) == 1
    assert gradient(hvd.alltoall(x, [0] * (size - 1) + [1])[0], 5.0) == 5
    assert gradient(hvd.reducescatter(x, op=hvd.Sum), rank + 1.0) == size
    assert gradient(hvd.reducescatter(x), rank + 1.0) == 1


def check_local_errors(rank, size):
    del rank, size
    raises(ValueError, "takes tensors", hvd.allreduce, [1.0])
    raises(ValueError, "on the CPU", hvd.allreduce, torch.empty(2, device="meta"))
    raises(ValueError, "dense", hvd.broadcast, torch.eye(2).to_sparse(), 0)


def check_barrier_and_names(rank, size):
    # The name is free again, and is not another operation's.
    for _ in range(3):
        assert hvd.allreduce(torch.ones(1), name="same", op=hvd.Sum).item() == size
        assert hvd.broadcast(torch.ones(1) * rank, 0, name="same").item() == 0
    hvd.barrier()


@pytest.fixture(scope="module", params=[1, 2, 4])
def ranks(request):
    return horovod_ranks.Checks(request.param, __name__)


@pytest.mark.parametrize("check", horovod_ranks.names(__name__))
def test(ranks, check):
    ranks.verify(check)
