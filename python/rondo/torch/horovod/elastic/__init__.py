"""Elastic training: what a job does when it loses ranks."""

from .run import run
from .sampler import ElasticSampler
from .state import ObjectState, State, TorchState

__all__ = ["ElasticSampler", "ObjectState", "State", "TorchState", "run"]
