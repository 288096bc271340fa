"""Works, callbacks and groups that wait for, outlive or end one another."""

import datetime
import threading

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from torch_ranks import run


def _waiting_callback(rank, size, how):
    """As DDP's PowerSGD hook does."""
    x = torch.ones(4)
    works = [dist.all_reduce(torch.ones(4), async_op=True)]
    later = []
    if how == "earlier":
        later.append(dist.all_reduce(x, async_op=True))

    def then(future):
        if how == "future":
            dist.all_reduce(x, async_op=True).get_future().wait()
        elif how == "work":
            dist.all_reduce(x, async_op=True).wait()
        elif how == "blocking":
            dist.all_reduce(x)
        else:
            later[0].wait()
        return x * 2

    got = works[0].get_future().then(then).wait()
    assert torch.equal(got, torch.full((4,), 2.0 * size))
    # The group goes on.
    for _ in range(3):
        dist.all_reduce(torch.ones(4), async_op=True).wait()


@pytest.mark.parametrize("how", ["future", "work", "blocking", "earlier"])
def test_a_callback_may_wait_for_a_collective(how):
    run(2, _waiting_callback, how)


def _destroying_callback(rank, size):
    over = threading.Event()

    def then(future):
        dist.destroy_process_group()
        over.set()

    dist.all_reduce(torch.ones(4), async_op=True).get_future().then(then)
    assert over.wait(60)


def test_a_callback_may_destroy_the_group():
    run(2, _destroying_callback)


def _destroy_under_another_thread(rank, size, how):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        # Stays away until rank 0 has gone.
        store.wait(["gone"], datetime.timedelta(seconds=60))
        dist.destroy_process_group()
        return
    found = []

    def call():
        try:
            if how == "all_reduce":
                dist.all_reduce(torch.ones(4))
            else:
                rondo.torch.monitored_barrier()
        except dist.DistBackendError as error:
            found.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(0.3)  # nothing says that it is in the call
    dist.destroy_process_group()
    thread.join(60)
    assert not thread.is_alive()
    store.set("gone", "")
    text = "ended its process group" if how == "all_reduce" else "was closed"
    assert len(found) == 1 and text in found[0], found


@pytest.mark.parametrize("how", ["all_reduce", "monitored_barrier"])
def test_destroy_while_another_thread_waits(how):
    run(2, _destroy_under_another_thread, how)


def _last_reference(rank, size, folder):
    store = dist.FileStore(f"{folder}/other", size)
    options = rondo.torch.Options(datetime.timedelta(seconds=60))
    backend = rondo.torch._backend.Backend(store, rank, size, options)
    if rank == 1:
        with pytest.raises(dist.DistBackendError, match="has closed"):
            backend.recv([torch.empty(1)], 0, 0).wait()
        return
    seen = []
    work = backend.allreduce([torch.ones(4)])
    work.get_future().then(lambda future: seen.append("called"))
    # Waits, with Python's lock in hand, for a callback that needs it.
    del backend
    assert seen == ["called"]
    with pytest.raises(dist.DistBackendError, match="process group is gone"):
        work.wait()


def test_the_last_reference_goes_while_a_callback_is_pending(tmp_path):
    run(2, _last_reference, str(tmp_path))


def _callback_of_a_message(rank, size):
    if rank == 1:
        dist.recv(torch.empty(1), 0, tag=1)
        dist.send(torch.ones(4), 0)
        return
    # Gradients are on in callbacks, and the receive itself is not recorded.
    x = torch.zeros(8)[::2]
    work = dist.irecv(x, 1)
    future = work.get_future().then(
        lambda _: (torch.ones(1, requires_grad=True) * 2).requires_grad
    )
    dist.send(torch.ones(1), 1, tag=1)
    assert future.wait()
    assert torch.equal(x, torch.ones(4))


def test_callback_of_a_message():
    run(2, _callback_of_a_message)


def _resized(rank, size):
    if rank == 1:
        dist.recv(torch.empty(1), 0, tag=1)
        dist.send(torch.ones(4), 0)
        return
    x = torch.zeros(8)[::2]
    work = dist.irecv(x, 1)
    x.resize_(7)
    dist.send(torch.ones(1), 1, tag=1)
    with pytest.raises(dist.DistBackendError, match="size of tensor"):
        work.wait()


def test_a_tensor_resized_under_a_receive_is_an_error():
    run(2, _resized)
