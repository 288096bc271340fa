"""What bad luck gets: an error on every rank that names who, and never a hang."""

import json
import logging
import logging.handlers
import os
import signal
import tempfile
import time
import types

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
import torch.distributed as dist
from horovod_ranks import raises
from rondo.torch.horovod import basics, engine
from rondo.torch.horovod.coordinator import Coordinator
from rondo.torch.horovod.job import Hosts
from rondo.torch.horovod.request import Request
from rondo.torch.horovod.settings import Settings

Failed = hvd.HorovodInternalError


def check_mismatches(rank, size):
    """Each fails alone, with both values, on every rank."""
    if size == 1:
        return
    last = rank == size - 1
    ends = f"rank 0 has {{}}, rank {size - 1} has {{}}"

    def differ(what, one, other, function, mine, his, **options):
        text = raises(Failed, what, function, his if last else mine, **options)
        assert ends.format(one, other) in text, text

    a, b = torch.ones(2, 3), torch.ones(2, 4)
    differ("shape", [2, 3], [2, 4], hvd.allreduce, a, b, name="grad")
    differ("shape", [2, 3], [6], hvd.allreduce, a, torch.ones(6))
    differ("dtype", "float32", "float64", hvd.allreduce, a, a.double())
    differ("dtype", "float32", "int64", hvd.allgather, a, a.long())
    differ("shape", [2, 3], [2, 4], hvd.allgather, a, b)
    differ("shape", [2, 3], [2, 4], hvd.broadcast, a, b, root_rank=0)
    differ("shape", [4, 3], [4, 4], hvd.alltoall, a.repeat(2, 1), b.repeat(2, 1))
    differ("shape", [2, 3], [2, 4], hvd.reducescatter, a, b)
    differ("number of tensors", 1, 2, hvd.grouped_allreduce, [a], [a, a])
    text = raises(Failed, "op", hvd.allreduce, a, op=hvd.Max if last else hvd.Sum)
    assert ends.format("Sum", "Max") in text
    text = raises(Failed, "root", hvd.broadcast, a, size - 1 if last else 0)
    assert ends.format(0, size - 1) in text
    raises(Failed, "prescale", hvd.allreduce, a, prescale_factor=1.0 + last)
    assert hvd.allreduce(a, op=hvd.Sum)[0, 0] == size


def check_same_name_twice(rank, size):
    if size == 1:
        return
    if rank == 0:
        first = hvd.allreduce_async(torch.ones(1), name="twice")
        raises(
            ValueError, "under way", hvd.allreduce_async, torch.ones(1), name="twice"
        )
    hvd.barrier()
    if rank > 0:
        first = hvd.allreduce_async(torch.ones(1), name="twice")
    assert hvd.synchronize(first).item() == 1


@pytest.fixture(scope="module", params=[1, 2, 4])
def ranks(request):
    return horovod_ranks.Checks(request.param, __name__)


@pytest.mark.parametrize("check", horovod_ranks.names(__name__))
def test(ranks, check):
    ranks.verify(check)


# ---- Each of these needs a job of its own ------------------------------------


def _late(rank, size):
    """Rank 1 never submits "lost", and "other" is not disturbed."""
    del size
    warned = logging.handlers.MemoryHandler(1000, flushLevel=logging.CRITICAL)
    logging.getLogger("rondo.torch").addHandler(warned)
    if rank != 1:
        handle = hvd.allreduce_async(torch.ones(1), name="lost")
    _until_all_come("other")
    text = "" if rank == 1 else raises(Failed, "lost", hvd.synchronize, handle)
    _until_all_come("end")
    return text, [record.getMessage() for record in warned.buffer]


def _until_all_come(name):
    """Where a time-out is so short that a busy machine may be late."""
    while True:
        try:
            return hvd.allreduce(torch.ones(1), name=name)
        except Failed as error:
            assert f'"{name}" waits for' in str(error), error


def test_a_rank_that_never_submits_is_named():
    found = horovod_ranks.run(
        3,
        _late,
        HOROVOD_STALL_CHECK_TIME_SECONDS="0.2",
        HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="1",
    )
    (one, warnings), _, (two, _) = found
    assert one == two and "waits for rank 1" in one, found
    assert "ranks 0, 2 submitted it" in one
    assert any('allreduce of "lost" waits for rank 1' in text for text in warnings)


def _killed(rank, size, victim):
    hvd.allreduce(torch.ones(1))
    if rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    raises(Failed, f"rank {victim}", hvd.allreduce, torch.ones(1000), name="x")
    raises(Failed, f"rank {victim}", hvd.barrier)


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_died(victim):
    found = horovod_ranks.outcomes(3, _killed, victim)
    assert found[victim].error == "died"
    for rank in range(3):
        if rank != victim:
            found[rank].check()


def _leaves(rank, size):
    if rank == 1:
        return ""  # hvd.shutdown() is called
    # It waits for a while; on a machine that stands still it may be gone.
    text = raises(Failed, "", hvd.allreduce, torch.ones(1))
    assert "rank 1" in text, text
    return text


def test_a_rank_that_has_shut_down():
    horovod_ranks.run(2, _leaves)


def _store():
    return basics.process().job.part("test")


def _waits_in_join(rank, size):
    """Rank 1's time passes while it waits for rank 0, which is at work."""
    del size
    if rank == 0:
        _store().get("watched")
        return hvd.join()
    joined = basics.engine().submit(Request("join", "join"))
    later = time.monotonic() + 1e6
    engine.time = types.SimpleNamespace(monotonic=lambda: later)
    basics.engine()._watch()
    engine.time = time
    _store().set("watched", "1")
    return basics.engine().wait(joined)


def test_join_may_take_longer_than_operations():
    one, other = horovod_ranks.run(2, _waits_in_join)
    assert one == other and one in (0, 1)


def _dies_while_the_other_leaves(rank, size):
    del size
    if rank == 1:
        _store().get("leaving")
        os.kill(os.getpid(), signal.SIGKILL)
    engine._GOODBYE = 300.0  # longer than the test may take
    _store().set("leaving", "1")
    hvd.shutdown()


def test_a_rank_that_leaves_does_not_wait_for_a_dead_one():
    found = horovod_ranks.outcomes(2, _dies_while_the_other_leaves)
    assert [one.error for one in found] == ["", "died"], found


def _forks(rank, size):
    """What the child does is not seen in the parent's timeline, and does not hang."""
    del size
    with tempfile.TemporaryDirectory(prefix="rondo-hvd-") as folder:
        path = os.path.join(folder, "trace.json")
        hvd.start_timeline(path)
        handle = hvd.allreduce_async(torch.ones(1), name="forked")
        child = os.fork()
        if child == 0:
            try:
                raises(Failed, "spawn", hvd.synchronize, handle)
                hvd.shutdown()
                raises(Failed, "spawn", hvd.init)
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        hvd.synchronize(handle)
        hvd.stop_timeline()
        with open(path if rank == 0 else f"{path}.{rank}") as file:
            events = json.load(file)
    assert [event["ph"] for event in events if event] == list("MBEBE"), events


def test_a_forked_child():
    horovod_ranks.run(2, _forks)


def _again(rank, size):
    for _ in range(2):
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
        handle = hvd.allreduce_async(torch.ones(1))
        hvd.synchronize(handle)
        hvd.shutdown()
        hvd.shutdown()
        assert not hvd.is_initialized()
        raises(ValueError, "has not been initialized", hvd.rank)
        raises(ValueError, "hvd.init()", hvd.allreduce, torch.ones(1))
        hvd.init(process_sets=[hvd.ProcessSet(range(size - 1))])
    raises(ValueError, "already", hvd.add_process_set, range(size - 1))
    child = os.fork()
    if child == 0:
        try:
            raises(Failed, "was forked", hvd.allreduce, torch.ones(1))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


def test_init_again_and_forks():
    horovod_ranks.run(2, _again)


def test_before_init():
    for function in (hvd.rank, hvd.size, hvd.local_rank, hvd.cross_size, hvd.join):
        raises(ValueError, "Horovod has not been initialized", function)
    # elastic.run does not take it for a failure of the ranks.
    with pytest.raises(ValueError) as asked:
        hvd.rank()
    assert not isinstance(asked.value, hvd.HorovodInternalError)
    raises(ValueError, "Horovod", hvd.allreduce, torch.ones(1))
    raises(ValueError, "process_sets", hvd.init, comm=[0])
    hvd.shutdown()


def test_settings(monkeypatch):
    monkeypatch.setenv("HOROVOD_STALL_CHECK_TIME_SECONDS", "soon")
    raises(ValueError, 'is "soon"', Settings.from_environment)
    monkeypatch.setenv("HOROVOD_STALL_CHECK_TIME_SECONDS", "7")
    assert Settings.from_environment().stall_warning == 7
    monkeypatch.setenv("HOROVOD_STALL_CHECK_DISABLE", "1")
    assert Settings.from_environment().stall_warning == 0


def test_ranks_on_several_hosts(monkeypatch):
    """Ranks 0 and 2 on a, 1 and 3 on b, 4 on c."""
    store = dist.HashStore()
    for rank, name in enumerate("ababc"):
        store.set(f"host{rank}", name)

    def seen_by(rank, name):
        monkeypatch.setenv("HOROVOD_HOSTNAME", name)
        hosts = Hosts(store, rank, 5)
        assert not hosts.is_homogeneous
        local = (hosts.local_rank, hosts.local_size)
        return *local, hosts.cross_rank, hosts.cross_size

    assert seen_by(2, "a") == (1, 2, 0, 2)
    assert seen_by(3, "b") == (1, 2, 1, 2)
    assert seen_by(1, "b") == (0, 2, 1, 3)
    assert seen_by(4, "c") == (0, 1, 2, 3)


# ---- The coordinator alone ---------------------------------------------------


def grad(name, elements=4, op="Sum"):
    return Request("allreduce", name, 0, ["float32"], [[elements]], op)


def test_what_is_ready_is_reduced_at_once():
    coordinator = Coordinator(2, Settings(fusion=64))
    names = ["a", "b", "c", "d", "max"]
    for rank, order in enumerate((names, names[::-1])):
        for name in order:
            elements = 12 if name == "c" else 4
            op = "Max" if name == "max" else "Sum"
            coordinator.submit(rank, grad(name, elements, op), 0.0)
        if rank == 0:
            assert coordinator.take() == []
    # In the order in which they got ready; 12 + 4 elements are 64 bytes.
    taken = [decision.names for _, decision in coordinator.take()]
    assert taken == [["max"], ["d", "c"], ["b", "a"]]
    assert coordinator.take() == []


def test_a_warning_comes_once_and_then_the_error():
    coordinator = Coordinator(3, Settings(stall_warning=10, stall_error=30))
    coordinator.submit(1, grad("allreduce.g"), 0.0)
    assert coordinator.stalled(9.0) == []
    (warning,) = coordinator.stalled(11.0)
    assert "waits for ranks 0, 2 since 11 s; rank 1 submitted it" in warning
    assert coordinator.stalled(12.0) == [] and coordinator.take() == []
    assert coordinator.stalled(30.0) == []
    ((ranks, decision),) = coordinator.take()
    assert ranks == [1] and "SHUTDOWN_TIME_SECONDS is 30" in decision.error


def test_operations_of_a_set_that_was_removed():
    coordinator = Coordinator(2, Settings())
    for rank in range(2):
        coordinator.submit(rank, Request("add_process_set", "+", ranks=[1]), 0.0)
    assert coordinator.take()[0][1].value == 1
    for rank in range(2):
        coordinator.submit(rank, Request("remove_process_set", "-", root=1), 0.0)
    assert coordinator.take()[0][1].value == 1
    coordinator.submit(1, Request("barrier", "b", set=1), 0.0)
    ((ranks, decision),) = coordinator.take()
    assert ranks == [1] and "does not exist" in decision.error
