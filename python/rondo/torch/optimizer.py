"""horovod.torch.optimizer."""

from .horovod.optimizer import DistributedOptimizer

__all__ = ["DistributedOptimizer"]
