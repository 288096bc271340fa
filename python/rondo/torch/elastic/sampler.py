"""horovod.torch.elastic.sampler."""

from ..horovod.elastic.sampler import ElasticSampler

__all__ = ["ElasticSampler"]
