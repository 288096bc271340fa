"""Operations under way, and what can go wrong."""

import gc
import threading
import time

import numpy as np
import pytest

import rondo


def test_wait_test_and_error(spawn):
    def body(comm):
        x = np.ones(4)
        work = comm.allreduce_async(x, op="avg")
        return work.wait(timeout=20) is x, work.test(), work.error

    assert spawn(2, body) == [(True, True, None)] * 2


def test_waiting_ends_and_the_operation_goes_on(spawn):
    late = threading.Event()

    def body(comm):
        if comm.rank == 1:
            assert late.wait(30)
        work = comm.allreduce_async(np.ones(2))
        if comm.rank == 0:
            assert not work.test()
            with pytest.raises(TimeoutError) as caught:
                work.wait(timeout=0.01)
            assert isinstance(caught.value, rondo.TimeoutError)
            assert work.error is None
            late.set()
        return work.wait().tolist()

    assert spawn(2, body) == [[2, 2]] * 2


def test_arrays_outlive_a_dropped_work(spawn):
    late = threading.Event()
    n = 1 << 18

    def body(comm):
        if comm.rank == 1:
            assert late.wait(30)
            return comm.allreduce(np.ones(n)).sum()
        comm.allreduce_async(np.ones(n))  # neither array nor Work is kept
        gc.collect()
        trash = [np.full(n, 1e9) for _ in range(8)]  # would reuse the memory
        late.set()
        return trash[0][0]

    assert spawn(2, body)[1] == 2 * n


def test_cancel_reaches_every_rank(spawn):
    def body(comm):
        if comm.rank == 0:
            work = comm.allreduce_async(np.ones(1))
            work.cancel()
            with pytest.raises(rondo.CancelledError):
                work.wait(20)
            assert isinstance(work.error, rondo.CancelledError)
        else:
            with pytest.raises(rondo.CancelledError, match="cancelled by rank 0"):
                comm.recv(np.empty(1), 0)

    spawn(2, body)


@pytest.mark.parametrize("name", ["allreduce", "allreduce_async"])
def test_an_operator_that_raises(spawn, name):
    def body(comm):
        def broken(inout, other):
            raise KeyError("no such thing")

        with pytest.raises((KeyError, rondo.CancelledError)) as caught:
            result = getattr(comm, name)(np.ones(3), op=broken)
            if name.endswith("async"):
                result.wait(20)
        with pytest.raises(rondo.CancelledError, match="no such thing"):
            comm.barrier()
        return caught.type

    assert KeyError in spawn(2, body)


@pytest.mark.parametrize("count", [3, 300_000])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_an_operator_that_raises_on_one_rank(spawn, transport, count):
    """Nobody returns a wrong number, and everybody learns whose it was."""

    def body(comm):
        def add(inout, other):
            if comm.rank == 1:
                inout[:] = -1
                raise KeyError("no such thing")
            inout += other

        x = np.ones(count)
        try:
            # By the ring, rank 1's partial sums would go round.
            comm.allreduce(x, op=add, algorithm="ring")
            assert comm.rank != 1 and (x == 3).all()
        except KeyError:
            assert comm.rank == 1
        except rondo.CancelledError as e:
            assert comm.rank != 1 and "failed on rank 1" in str(e), e
        with pytest.raises(rondo.CancelledError, match="rank 1.*no such thing"):
            comm.barrier()

    spawn(3, body, transport=transport)


def test_mismatch(spawn):
    def body(comm):
        x = np.ones(2 + comm.rank)
        with pytest.raises(rondo.MismatchError, match="allreduce"):
            comm.allreduce(x)

    spawn(2, body)


def test_no_progress(spawn):
    over = threading.Event()

    def body(comm):
        if comm.rank == 1:
            assert over.wait(30)
            return
        started = time.monotonic()
        try:
            with pytest.raises(rondo.TimeoutError, match="rank 1"):
                comm.barrier(timeout=0.2)
        finally:
            over.set()
        assert time.monotonic() - started < 10

    spawn(2, body)


def test_arguments_that_cannot_work(spawn):
    def body(comm):
        x = np.ones(8)
        refuse = pytest.raises
        with refuse(TypeError, match="x: expected a numpy.ndarray, got int"):
            comm.allreduce(3)
        with refuse(TypeError, match="uint64 is not supported; use float64"):
            comm.allreduce(np.ones(2, np.uint64))
        with refuse(TypeError, match="complex128 is not supported"):
            comm.allreduce(np.ones(2, complex))
        with refuse(ValueError, match="not C-contiguous; pass"):
            comm.allreduce(x[::2])
        with refuse(ValueError, match="byte order"):
            comm.allreduce(x.astype(">f8"))
        x.flags.writeable = False
        with refuse(ValueError, match="read-only; pass a copy"):
            comm.allreduce(x)
        y = np.empty(8)
        comm.allreduce(x, out=y)  # is only read
        with refuse(rondo.InvalidArgumentError, match='no "mean"; there are sum'):
            comm.allreduce(y, op="mean")
        with refuse(ValueError, match="no allreduce algorithm"):
            comm.allreduce(y, algorithm="magic")
        with refuse(ValueError, match="output has 7 elements, expected 8"):
            comm.allreduce(y, out=np.empty(7))
        with refuse(ValueError, match="timeout"):
            comm.barrier(timeout=0)
        with refuse(ValueError, match="root 5"):
            comm.broadcast(y, root=5)
        with refuse(ValueError, match="band|bitwise"):
            comm.allreduce(y, op="band")
        with refuse(ValueError, match="not another rank"):
            comm.send(y, comm.rank)
        comm.barrier()  # and nothing of that hurt

    spawn(2, body)


def test_closed(spawn):
    def body(comm):
        comm.close()
        comm.close()
        assert comm.closed and "closed" in repr(comm)
        with pytest.raises(rondo.InvalidArgumentError, match="closed"):
            comm.barrier()
        with pytest.raises(rondo.InvalidArgumentError, match="closed"):
            _ = comm.rank

    spawn(2, body)
