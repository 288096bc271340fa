"""PyTorch on Rondo's collectives.

    import torch, rondo.torch
    torch.distributed.init_process_group("rondo")

under torchrun, `rondo run`, mpirun or srun. Tensors on the CPU; DDP, FSDP2 and
all of torch.distributed work as they are. So does what is written for Horovod:

    import rondo.torch as hvd
    hvd.init()
"""

import atexit
import datetime
import os

import torch
import torch.distributed

try:
    from . import _backend
except ImportError as error:
    raise ImportError(
        f"rondo.torch: {error}; `make torch` builds it, for the PyTorch that "
        "scripts/requirements-torch.txt names"
    ) from error
from . import _rendezvous, horovod

# Where Horovod's scripts find parts of it.
from . import compression as compression
from . import functions as functions
from . import mpi_ops as mpi_ops
from . import optimizer as optimizer
from . import sync_batch_norm as sync_batch_norm
from .horovod import *  # noqa: F403  # its __all__ is Horovod's API

__all__ = ["Options", "empty", "is_mapped", "monitored_barrier", *horovod.__all__]

Options = _backend.Options


def empty(*size, dtype=None):
    """A tensor on the CPU whose memory the other ranks on this host can map.

    Collectives use such tensors where they lie; from all others they copy. DDP's
    buckets are allocated so by themselves, unless DDP_DISABLE_COMM_MEM=1 is set.
    """
    if len(size) == 1 and not isinstance(size[0], int):
        size = size[0]
    return _backend.mapped_empty(list(size), dtype or torch.get_default_dtype())


def is_mapped(tensor):
    """Whether the tensor's memory is such that other ranks can map it."""
    return _backend.is_mapped(tensor)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """torch.distributed.monitored_barrier, which refuses all backends but gloo.

    Rank 0 names the ranks that did not come within `timeout`.
    """
    group = group or torch.distributed.group.WORLD
    if group == torch.distributed.GroupMember.NON_GROUP_MEMBER:
        return
    if timeout is None:
        timeout = group._get_backend(torch.device("cpu")).options._timeout
    group.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)


def _make_backend(dist_options, options):
    # DDP asks the backend for the memory of its buckets unless this is 1, which
    # it takes for said when nothing is.
    os.environ.setdefault("DDP_DISABLE_COMM_MEM", "0")
    made = Options(datetime.timedelta(seconds=dist_options.timeout.total_seconds()))
    if isinstance(options, Options):
        made._timeout = options._timeout
    made.group_name = dist_options.group_id
    made.global_ranks_in_group = dist_options.global_ranks_in_group
    store, rank = dist_options.store, dist_options.group_rank
    size = dist_options.group_size
    store.set(f"size{rank}", str(size))
    try:
        return _backend.Backend(store, rank, size, made)
    except torch.distributed.DistBackendError as error:
        why = _other_size(store, rank, size)
        if not why:
            raise
        raise torch.distributed.DistBackendError(f"{error}\n  cause: {why}") from error


def _other_size(store, rank, size):
    """Whether a rank was told of another world size: what to say, or ""."""
    for other in range(size):
        key = f"size{other}"
        if store.check([key]) and int(store.get(key)) != size:
            return (
                f"this rank, {rank}, has a world size of {size}, and rank {other} one "
                f"of {int(store.get(key))}; give all the same"
            )
    return ""


def _end_groups():
    """What is still under way ends while its callbacks can run in Python."""
    for group in list(torch.distributed.distributed_c10d._world.pg_names):
        try:
            backend = group._get_backend(torch.device("cpu"))
        except RuntimeError:  # it has none for the CPU
            continue
        if isinstance(backend, _backend.Backend):
            backend._end("its program ended")


if "rondo" not in torch.distributed.Backend.backend_list:
    torch.distributed.Backend.register_backend(
        "rondo", _make_backend, extended_api=True, devices=["cpu"]
    )
    _rendezvous.install()
    atexit.register(_end_groups)
