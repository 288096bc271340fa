"""init_process_group under launchers that set no MASTER_ADDR.

torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and PyTorch's own
env:// uses them. `rondo run`, mpirun and srun do not; there the ranks of a job
meet through the store that Rondo finds for it (docs/environment.md).
"""

import importlib
import itertools
import os
import urllib.parse

import torch.distributed

from . import _backend

# torch.distributed has a function of the same name.
rendezvous = importlib.import_module("torch.distributed.rendezvous")

_LAUNCHERS = ("RONDO_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def _has_master():
    return "MASTER_ADDR" in os.environ or "MASTER_PORT" in os.environ


def _has_job():
    return not _has_master() and any(name in os.environ for name in _LAUNCHERS)


def has_launcher():
    """Whether this process is one of several that env:// brings together."""
    return _has_master() or _has_job()


def _handler(pytorch):
    rounds = itertools.count()

    def env(url, timeout=rendezvous.default_pg_timeout, **options):
        if not _has_job():
            yield from pytorch(url, timeout=timeout, **options)
            return
        job = _backend.JobStore(timeout)
        # What a group left in the store is not for the next one.
        store = torch.distributed.PrefixStore(str(next(rounds)), job)
        # What init_process_group was told counts, as with PyTorch's own.
        told = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(url).query))
        rank = int(told.get("rank", job.rank))
        yield store, rank, int(told.get("world_size", job.size))
        raise RuntimeError("the ranks of a job meet once, and cannot meet again")

    return env


def install():
    """Puts it before PyTorch's own handler of env://."""
    handlers = rendezvous._rendezvous_handlers
    handlers["env"] = _handler(handlers["env"])
