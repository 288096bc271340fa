"""What bad luck gets: an exception on every rank, never a hang."""

import datetime
import os
import pathlib
import re
import signal
import time

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from torch_ranks import Job, fail, init, run


def _reduce(rank, size, tensors):
    dist.all_reduce(tensors[rank])


@pytest.mark.parametrize(
    "tensors, texts",
    [
        ([torch.ones(4), torch.ones(5)], ["4 f32", "5 f32"]),
        ([torch.ones(4), torch.ones(4, dtype=torch.int32)], ["4 f32", "4 i32"]),
        ([torch.ones(1 << 20), torch.ones(2 << 20)], ["1048576 f32", "2097152 f32"]),
    ],
    ids=["shapes", "dtypes", "long"],
)
def test_mismatch_names_ranks_and_values(tensors, texts):
    for outcome in fail(2, _reduce, tensors):
        assert outcome.error == "DistBackendError", outcome
        for text in [*texts, "rank 0", "rank 1"]:
            assert text in outcome.text, outcome.text


def _differ(rank, size, what):
    """Ranks 0 and 1 have tensors of 4 and 5 elements, or of another dtype."""
    count = 4 + (rank if what != "dtype" else 0)
    kind = torch.int32 if what == "dtype" and rank else torch.float32
    x = torch.ones(count, dtype=kind)
    every = [x.clone() for _ in range(size)]
    if what in ("broadcast", "dtype"):
        dist.broadcast(x, 0)
    elif what == "reduce":
        dist.reduce(x, 0)
    elif what == "all_gather_into_tensor":
        dist.all_gather_into_tensor(torch.ones(count * size), x)
    elif what == "reduce_scatter":
        dist.reduce_scatter(x, every)
    elif what == "gather":
        dist.gather(x, every if rank == 0 else None)
    elif what == "scatter":
        dist.scatter(x, every if rank == 0 else None)
    elif what == "all_to_all":
        dist.all_to_all(every, [one.clone() for one in every])
    elif what == "op":
        op = dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM
        dist.all_reduce(torch.ones(4), op)
    elif what == "root":
        dist.broadcast(torch.ones(4), rank)


@pytest.mark.parametrize(
    "what, values",
    [
        ("broadcast", ("4", "5")),
        ("dtype", ("f32", "i32")),
        ("reduce", ("4", "5")),
        ("all_gather_into_tensor", ("4", "5")),
        ("reduce_scatter", ("4", "5")),
        ("gather", ("4", "5")),
        ("scatter", ("4", "5")),
        ("all_to_all", ("4", "5")),
        ("op", ("sum", "max")),
        ("root", ("root 0", "root 1")),
    ],
)
def test_mismatches_of_each_collective(what, values):
    for outcome in fail(2, _differ, what):
        assert outcome.error == "DistBackendError", outcome
        for text in [*values, "rank 0", "rank 1"]:
            assert text in outcome.text, outcome.text


def _operations_differ(rank, size):
    x = torch.ones(4)
    if rank == 0:
        dist.all_reduce(x)
    else:
        dist.broadcast(x, 0)


def test_different_operations():
    for outcome in fail(2, _operations_differ):
        assert outcome.error == "DistBackendError", outcome
        assert "allreduce" in outcome.text and "broadcast" in outcome.text


def _sparse_shapes(rank, size):
    x = torch.sparse_coo_tensor([[0]], [1.0], (4 + rank,))
    dist.all_reduce(x)


def test_sparse_mismatch():
    for outcome in fail(2, _sparse_shapes):
        assert outcome.error == "DistBackendError", outcome
        assert "[4]" in outcome.text and "[5]" in outcome.text


def _dies(rank, size, how):
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(dist.DistBackendError, match=r"rank 1 .*was lost"):
        if how == "collective":
            dist.all_reduce(torch.ones(4))
        elif how == "async":
            dist.all_reduce(torch.ones(4), async_op=True).wait()
        else:
            dist.recv(torch.empty(4), 1)
    dist.destroy_process_group()
    return "told"


@pytest.mark.parametrize("how", ["collective", "async", "message"])
def test_a_killed_rank_is_named(how):
    outcomes = fail(4 if how == "collective" else 2, _dies, how)
    assert outcomes[1].error == "died"
    for outcome in outcomes[:1] + outcomes[2:]:
        assert outcome.value == "told", outcome


def _time_out(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:  # is late until the other has given up
        store.wait(["gave up"], datetime.timedelta(seconds=60))
        return None
    try:
        dist.all_reduce(torch.ones(4))
    finally:
        store.set("gave up", "")


def test_time_out_names_the_late():
    outcomes = fail(2, _time_out, timeout=1)
    assert outcomes[0].error == "DistBackendError", outcomes[0]
    assert "rank 1" in outcomes[0].text


def _waits_for_a_moment(rank, size, how):
    store = dist.distributed_c10d._get_default_store()
    short = datetime.timedelta(seconds=1)
    group = dist.new_group(timeout=short) if how == "group" else dist.group.WORLD
    if rank == 1:
        store.wait(["gave up"], datetime.timedelta(seconds=60))
        return
    x = torch.ones(4)
    # Who is late is known when the operation itself ends.
    text = "rondo:all_reduce: Operation timed out" if how == "wait" else "rank 1"
    with pytest.raises(dist.DistBackendError, match=text):
        if how == "wait":
            dist.all_reduce(x, async_op=True).wait(short)
        elif how == "options":
            options = dist.AllreduceOptions()
            options.timeout = short
            group.allreduce([x], options).wait()
        else:
            dist.all_reduce(x, group=group)
    store.set("gave up", "")
    dist.destroy_process_group()


@pytest.mark.parametrize("how", ["wait", "options", "group"])
def test_time_outs_of_one_operation_and_of_one_group(how):
    outcomes = fail(2, _waits_for_a_moment, how, timeout=300)
    outcomes[0].check()


def _sizes_differ(rank, size, folder):
    init(rank, 2 + rank, folder, timeout=5)


def test_world_sizes_that_differ(tmp_path):
    one, other = fail(2, _sizes_differ, str(tmp_path), timeout=None)
    assert one.error == other.error == "DistBackendError", (one, other)
    assert "this rank, 0, has a world size of 2, and rank 1 one of 3" in one.text
    assert "this rank, 1, has a world size of 3, and rank 0 one of 2" in other.text


def _start_alone(rank, size, folder):
    init(0, 2, folder, timeout=1)


def test_wrong_world_size(tmp_path):
    outcome = fail(1, _start_alone, str(tmp_path), timeout=None)[0]
    assert outcome.error == "DistBackendError", outcome
    assert "all 2 ranks to start" in outcome.text, outcome.text
    assert "the timeout of init_process_group sets" in outcome.text


def _destroy(rank, size):
    if rank == 0:
        work = dist.all_reduce(torch.ones(4), async_op=True)
        message = dist.irecv(torch.empty(4), 1)
        dist.destroy_process_group()
        with pytest.raises(dist.DistBackendError, match="ended its process group"):
            work.wait()
        with pytest.raises(dist.DistBackendError, match="closed"):
            message.wait()
        return
    # Ends when rank 0's group does.
    with pytest.raises(dist.DistBackendError, match="rank 0"):
        dist.recv(torch.empty(4), 0)
    with pytest.raises(dist.DistBackendError, match="rank 0 ended its process group"):
        dist.all_reduce(torch.ones(4))
    dist.destroy_process_group()


def test_destroy_with_pending_work():
    run(2, _destroy)


def _fork(rank, size):
    read, write = os.pipe()
    message = dist.irecv(torch.empty(1), 1 - rank)
    child = os.fork()
    if child == 0:
        for call in (lambda: dist.all_reduce(torch.ones(4)), message.wait):
            try:
                call()
            except dist.DistBackendError as error:
                os.write(write, str(error).encode())
        dist.destroy_process_group()
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(read, 8192).decode()
    assert "forked after" in text and "forked while" in text, text
    # The parent's group is as it was.
    x = torch.ones(4)
    dist.all_reduce(x)
    assert x[0] == size
    dist.send(x[:1], 1 - rank)
    message.wait()


def test_fork_after_init():
    run(2, _fork)


def _wrong_arguments(rank, size):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    x = torch.ones(4)
    meta = torch.empty(4, device="meta")
    for call, text in [
        (lambda: backend.allreduce([meta]), "on meta"),
        (lambda: backend.allreduce([x, x]), "one tensor"),
        (lambda: dist.all_reduce(x, dist.ReduceOp.BAND), "band"),
        (
            lambda: dist.all_reduce(
                torch.ones(2, dtype=torch.uint16), dist.ReduceOp.MAX
            ),
            "max is not defined",
        ),
        (
            lambda: dist.all_reduce(
                torch.ones(2, dtype=torch.int32), dist._make_nccl_premul_sum(0.5)
            ),
            "PREMUL_SUM is not defined for Int",
        ),
        (lambda: dist.all_reduce(torch.ones(1).expand(4)), "share memory"),
        (lambda: dist.recv(torch.ones(1).expand(4), 1 - rank), "share memory"),
        (lambda: backend.allgather([[x]], [x]), "has 1 tensors"),
        (lambda: backend._allgather_base(x, x), "needs 8 elements"),
        (
            lambda: dist.all_to_all_single(torch.empty(4), x, [1, 1], [2, 2]),
            "split sizes",
        ),
        (lambda: dist.all_to_all_single(torch.empty(3), torch.ones(3)), "evenly"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    # None of this broke the group.
    dist.all_reduce(x)


def test_wrong_arguments():
    run(2, _wrong_arguments)


def _cuda(rank, size):
    with pytest.raises(RuntimeError, match="device type cuda"):
        dist.group.WORLD._get_backend(torch.device("cuda"))


def test_a_device_without_support():
    """What PyTorch asks before it hands a CUDA tensor to a backend."""
    run(2, _cuda)


def _not_picklable(rank, size):
    with pytest.raises(AttributeError, match="Can't pickle local object"):
        dist.all_gather_object([None] * size, lambda: None)


def test_object_that_is_not_picklable():
    run(2, _not_picklable)


def _one_is_not_picklable(rank, size):
    bad = (lambda: None) if rank == 0 else "good"  # noqa: E731
    try:
        dist.all_gather_object([None] * size, bad)
    finally:
        dist.destroy_process_group()


def test_an_object_that_is_not_picklable_on_one_rank():
    """The others hear of it when that rank leaves the group."""
    one, other = fail(2, _one_is_not_picklable)
    assert one.error == "AttributeError" and "pickle" in one.text
    assert other.error == "DistBackendError"
    assert re.search(r"rank 0 .*(closed|ended)", other.text), other.text


def _interrupted(rank, size, waiting, how):
    if rank == 1:
        dist.recv(torch.empty(1), 0)
        return
    try:
        pathlib.Path(waiting).touch()
        if how == "collective":
            dist.all_reduce(torch.ones(4))
        else:
            rondo.torch.monitored_barrier()
    except KeyboardInterrupt:
        os._exit(7)


@pytest.mark.parametrize("how", ["collective", "monitored_barrier"])
def test_ctrl_c_ends_a_wait(tmp_path, how):
    waiting = tmp_path / "waiting"
    job = Job(2, _interrupted, str(waiting), how)
    process = job.ranks[0][0]
    deadline = time.monotonic() + 60
    while not waiting.exists():
        assert process.is_alive() and time.monotonic() < deadline
        process.join(0.05)
    job.kill(0, signal.SIGINT)
    process.join(30)
    assert process.exitcode == 7
    job.kill(1)
    job.end()
