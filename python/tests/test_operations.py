"""Every operation, with ranks as threads."""

import ml_dtypes
import numpy as np
import pytest

import rondo

DTYPES = "float64 float32 float16 int64 int32 int16 int8 uint8 bool".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_allreduce_of_every_dtype(spawn, dtype):
    def body(comm):
        x = np.arange(7).astype(dtype)
        out = np.empty_like(x)
        assert comm.allreduce(x, op="max", out=out) is out
        assert (x == np.arange(7).astype(dtype)).all()
        assert comm.allreduce(x) is x
        return x, out

    for x, out in spawn(3, body):
        once = np.arange(7).astype(dtype)
        np.testing.assert_array_equal(out, once)
        np.testing.assert_array_equal(x, once if dtype == "bool" else 3 * once)


def test_bfloat16(spawn):
    bfloat16 = ml_dtypes.bfloat16

    def body(comm):
        x = np.full(5, 1.5, bfloat16)
        comm.allreduce(x)

        def add(inout, other):
            assert inout.dtype == other.dtype == bfloat16
            inout += other

        return comm.allreduce(x, op=add)

    for x in spawn(2, body):
        np.testing.assert_array_equal(x, np.full(5, 6, bfloat16))


@pytest.mark.parametrize(
    "op, expected",
    [("sum", 6), ("avg", 2), ("prod", 6), ("min", 1), ("max", 3)]
    + [("band", 0), ("bor", 3), ("bxor", 0)],
)
def test_operators(spawn, op, expected):
    def body(comm):
        return comm.allreduce(np.full((2, 3), comm.rank + 1, np.int32), op=op)

    for x in spawn(3, body):
        np.testing.assert_array_equal(x, np.full((2, 3), expected))


@pytest.mark.parametrize("algorithm", "naive star tree butterfly ring direct".split())
def test_named_algorithms(spawn, algorithm):
    def body(comm):
        return comm.allreduce(np.ones(1000), algorithm=algorithm)

    for x in spawn(3, body):
        np.testing.assert_array_equal(x, np.full(1000, 3))


def test_several_arrays_at_once(spawn):
    def body(comm):
        xs = [np.full(n, comm.rank + 1.0) for n in (0, 1, 300)]
        assert comm.allreduce(xs) is xs
        comm.allreduce([])
        return xs

    for xs in spawn(2, body):
        for x in xs:
            np.testing.assert_array_equal(x, np.full(x.size, 3.0))


def test_moving_operations(spawn):
    def body(comm):
        rank, size = comm.rank, comm.size
        x = np.array([rank, 10 * rank], np.int64)
        everything = [[r, 10 * r] for r in range(size)]

        assert comm.allgather(x).tolist() == everything
        flat = np.empty(2 * size, np.int64)
        assert comm.allgather(x, out=flat) is flat
        assert flat.tolist() == sum(everything, [])
        got = comm.gather(x, root=1)
        assert got is None if rank != 1 else got.tolist() == everything

        part = np.empty(2, np.int64)
        comm.scatter(flat if rank == 2 else None, part, root=2)
        assert part.tolist() == [rank, 10 * rank]
        comm.reduce_scatter(flat, part, op="max")
        assert part.tolist() == [rank, 10 * rank]

        y = np.array([rank])
        comm.reduce(y, root=1)
        assert y[0] == (3 if rank == 1 else rank)
        comm.broadcast(y, root=1)
        assert y[0] == 3

        blocks = np.arange(size) + 100 * rank
        assert comm.all_to_all(blocks).tolist() == [100 * r + rank for r in range(3)]
        counts = [0, 1, 2]
        out = np.empty(3, np.int64)
        comm.allgatherv(np.full(rank, rank), out, counts)
        assert out.tolist() == [1, 2, 2]
        out = np.full(rank * size, -1)
        comm.all_to_allv(np.full(3, rank), counts, out, [rank] * size)
        assert out.tolist() == sorted(list(range(size)) * rank)
        comm.barrier()

    spawn(3, body)


def test_messages(spawn):
    def body(comm):
        other = 1 - comm.rank
        x, y = np.full(3, comm.rank), np.empty(3, int)
        assert comm.sendrecv(x, other, y, other) is y
        assert (y == other).all()
        if comm.rank == 0:
            comm.send(x, 1)
        else:
            assert (comm.recv(y, 0) == 0).all()
        comm.batch(sends=[(x, other), (x[:1] + 5, other)], recvs=[(y, other)] * 0)
        a, b = np.empty(3, int), np.empty(1, int)
        comm.batch(sends=[], recvs=[(a, other), (b, other)])
        assert (a == other).all() and b[0] == other + 5

    spawn(2, body)


def test_a_callable_as_operator(spawn):
    def body(comm):
        def keep_larger_magnitude(inout, other):
            assert not other.flags.writeable
            np.copyto(inout, other, where=abs(other) > abs(inout))

        x = np.array([-5 if comm.rank == 0 else comm.rank, comm.rank], np.float32)
        comm.allreduce(x, op=keep_larger_magnitude)
        return comm.allreduce_async(x, op=keep_larger_magnitude).wait()

    for x in spawn(3, body):
        assert x.tolist() == [-5, 2]


def test_split(spawn):
    def body(comm):
        row = comm.split(color=comm.rank % 2, key=-comm.rank)
        nobody = comm.split(-1)
        assert nobody is None
        x = np.array([comm.rank])
        row.allreduce(x)
        return row.rank, row.size, int(x[0])

    assert spawn(4, body) == [(1, 2, 2), (1, 2, 4), (0, 2, 2), (0, 2, 4)]


def test_arrays_that_peers_map(spawn):
    x = rondo.full((2, 3), 0, "int16")
    assert x.shape == (2, 3) and x.dtype == np.int16 and not x.any()
    assert rondo.empty(4).dtype == np.float32
    assert rondo.full([2], 7, np.uint8).tolist() == [7, 7]
    assert rondo.empty(0).size == 0
    assert x.ctypes.data % 64 == 0
    with pytest.raises(TypeError, match="uint16 is not supported"):
        rondo.empty(3, "uint16")
    with pytest.raises(ValueError, match="negative"):
        rondo.empty(-3)

    def body(comm):
        return comm.allreduce(rondo.full(100_000, comm.rank + 1))

    for y in spawn(2, body):
        assert (y == 3).all()
