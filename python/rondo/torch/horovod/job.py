"""Job: which rank this process is, and where it meets the others."""

import datetime
import os
import socket

import torch.distributed as dist

from .. import _rendezvous
from .errors import was_forked


class Job:
    """Found once for a process: it may meet the others several times, each time
    by a part of the store of its own."""

    def __init__(self, settings):
        timeout = datetime.timedelta(seconds=settings.connect_timeout)
        if _rendezvous.has_launcher():
            meeting = dist.rendezvous("env://", timeout=timeout)
            self._store, self.rank, self.size = next(meeting)
        else:
            self._store, self.rank, self.size = dist.HashStore(), 0, 1
        self._meetings = 0
        self._pid = os.getpid()

    def meet(self):
        """The store for the ranks that call this for the same time."""
        if self._pid != os.getpid():
            raise was_forked("hvd.init()", self._pid)
        self._meetings += 1
        return self.part(f"hvd{self._meetings}")

    def part(self, name):
        return dist.PrefixStore(name, self._store)

    def is_over(self):
        """Whether the launcher of a job that grows says that a rank has ended well:
        nobody is taken in any more."""
        return self._store.underlying_store.check(["over"])


class Hosts:
    """Where each rank runs: who shares a host with this one."""

    def __init__(self, store, rank, size):
        own = os.environ.get("HOROVOD_HOSTNAME") or socket.gethostname()
        store.set(f"host{rank}", own)
        names = [store.get(f"host{other}").decode() for other in range(size)]
        on_own = [other for other in range(size) if names[other] == own]
        self.local_rank = on_own.index(rank)
        self.local_size = len(on_own)
        # Ranks with this local rank, one on each host that has as many.
        hosts = list(dict.fromkeys(names))
        across = [host for host in hosts if names.count(host) > self.local_rank]
        self.cross_rank = across.index(own)
        self.cross_size = len(across)
        counts = {names.count(host) for host in hosts}
        self.is_homogeneous = len(counts) == 1
        self.rank, self.size = rank, size

    def tell(self):
        """Scripts that read the variables which horovodrun sets."""
        for whose in ("", "local_", "cross_"):
            for what in ("rank", "size"):
                number = getattr(self, whose + what)
                os.environ[f"HOROVOD_{whose}{what}".upper()] = str(number)
