"""What variables begin with: each is a function of a shape and a type."""

import math as _math

import numpy as np

from .framework.dtypes import as_dtype, float32
from .ops import array as _array
from .ops import random as _random


class Initializer:
    """The base; call it with (shape, dtype)."""

    def __call__(self, shape, dtype=None):
        raise NotImplementedError


class zeros(Initializer):
    """0."""

    def __init__(self, dtype=float32):
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        return _array.zeros(shape, dtype or self.dtype)


class ones(Initializer):
    """1."""

    def __init__(self, dtype=float32):
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        return _array.ones(shape, dtype or self.dtype)


class constant(Initializer):
    """This value: a number, or an array of the shape."""

    def __init__(self, value=0, dtype=float32):
        self.value = value
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        dtype = as_dtype(dtype or self.dtype)
        if np.ndim(self.value) == 0:
            value = np.array(self.value, dtype.as_numpy_dtype)
            return _array.fill(shape, value)
        return _array.constant(self.value, dtype, shape)


class random_uniform(Initializer):
    """Numbers of [minval, maxval)."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=float32):
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        return _random.random_uniform(
            shape, self.minval, self.maxval, dtype or self.dtype, self.seed
        )


class random_normal(Initializer):
    """Numbers from a normal distribution."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=float32):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        return _random.random_normal(
            shape, self.mean, self.stddev, dtype or self.dtype, self.seed
        )


class truncated_normal(random_normal):
    """The same, none further than two standard deviations from the mean."""

    def __call__(self, shape, dtype=None):
        return _random.truncated_normal(
            shape, self.mean, self.stddev, dtype or self.dtype, self.seed
        )


class variance_scaling(Initializer):
    """Variance scale / fan; the fan is that of "fan_in", "fan_out", "fan_avg"."""

    def __init__(
        self,
        scale=1.0,
        mode="fan_in",
        distribution="truncated_normal",
        seed=None,
        dtype=float32,
    ):
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = dtype

    def __call__(self, shape, dtype=None):
        dtype = dtype or self.dtype
        fan_in, fan_out = _fans(shape)
        fan = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
        }[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = _math.sqrt(3 * variance)
            return _random.random_uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            stddev = _math.sqrt(variance)
            return _random.random_normal(shape, 0, stddev, dtype, self.seed)
        # What cutting at two standard deviations takes away is given back.
        stddev = _math.sqrt(variance) / 0.87962566103423978
        return _random.truncated_normal(shape, 0, stddev, dtype, self.seed)


def _fans(shape):
    shape = [int(d) for d in shape]
    if len(shape) < 2:
        n = shape[0] if shape else 1
        return n, n
    window = 1
    for d in shape[:-2]:
        window *= d
    return shape[-2] * window, shape[-1] * window


def glorot_uniform(seed=None, dtype=float32):
    """Uniform with variance 2 / (fan in + fan out)."""
    return variance_scaling(1.0, "fan_avg", "uniform", seed, dtype)


def glorot_normal(seed=None, dtype=float32):
    """Normal with variance 2 / (fan in + fan out)."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", seed, dtype)


def he_uniform(seed=None, dtype=float32):
    """Uniform with variance 2 / fan in."""
    return variance_scaling(2.0, "fan_in", "uniform", seed, dtype)


def he_normal(seed=None, dtype=float32):
    """Normal with variance 2 / fan in."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", seed, dtype)


def lecun_normal(seed=None, dtype=float32):
    """Normal with variance 1 / fan in."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", seed, dtype)


__all__ = [
    "Initializer",
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "ones",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]
