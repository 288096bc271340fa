"""Collectives on NumPy arrays, between processes and hosts.

    import numpy as np, rondo
    comm = rondo.Communicator.world()
    x = np.full(4, comm.rank, np.float32)
    comm.allreduce(x)  # sum, in place

Start it with `rondo run -n 4 -- python program.py`, torchrun, mpirun or srun.
"""

import atexit as _atexit

from ._core import (
    Communicator,
    FileStore,
    MemoryStore,
    TcpStore,
    Work,
    _close_all,
    empty,
)
from .errors import (
    CancelledError,
    Error,
    InternalError,
    InvalidArgumentError,
    MismatchError,
    PeerLostError,
    PermissionError,
    ResourceError,
    TimeoutError,
    UnavailableError,
)
from .store import Store

__all__ = [
    "CancelledError",
    "Communicator",
    "Error",
    "FileStore",
    "InternalError",
    "InvalidArgumentError",
    "MemoryStore",
    "MismatchError",
    "PeerLostError",
    "PermissionError",
    "ResourceError",
    "Store",
    "TcpStore",
    "TimeoutError",
    "UnavailableError",
    "Work",
    "empty",
    "full",
    "zeros",
]


def full(shape, value, dtype="float32"):
    """As empty, with every element `value`."""
    array = empty(shape, dtype)
    array.fill(value)
    return array


def zeros(shape, dtype="float32"):
    """As empty, with every element 0."""
    return full(shape, 0, dtype)


# A rank that ends without closing is not a rank that was lost.
_atexit.register(_close_all)
