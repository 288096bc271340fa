"""Horovod's elastic training, where scripts import it from: horovod.torch.elastic."""

from ..horovod.elastic import *  # noqa: F403
from ..horovod.elastic import __all__ as __all__
from . import sampler as sampler
from . import state as state
