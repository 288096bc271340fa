"""horovod.torch.mpi_ops: where many scripts import Horovod's operations from."""

from .horovod import *  # noqa: F403
from .horovod import __all__ as __all__
