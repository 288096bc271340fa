"""horovod.torch.elastic.state."""

from ..horovod.elastic.state import ObjectState, TorchState

__all__ = ["ObjectState", "TorchState"]
