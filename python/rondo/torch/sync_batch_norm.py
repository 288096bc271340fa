"""horovod.torch.sync_batch_norm."""

from .horovod.sync_batch_norm import SyncBatchNorm

__all__ = ["SyncBatchNorm"]
