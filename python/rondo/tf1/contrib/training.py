"""tf.contrib.training."""

import json as _json

from ...errors import InvalidArgumentError
from ...train.device_setter import (  # noqa: F401
    GreedyLoadBalancingStrategy,
    byte_size_load_fn,
)
from .._missing import getattr_of

__getattr__ = getattr_of("tf.contrib.training")


class HParams:
    """Settings of a model, as attributes."""

    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)

    def values(self):
        return dict(self.__dict__)

    def add_hparam(self, name, value):
        if name in self.__dict__:
            raise InvalidArgumentError(f"HParams: {name} is there already")
        self.__dict__[name] = value

    def set_hparam(self, name, value):
        if name not in self.__dict__:
            raise InvalidArgumentError(f"HParams: there is no {name}")
        self.__dict__[name] = value

    def get(self, key, default=None):
        return self.__dict__.get(key, default)

    def parse(self, values):
        """Sets "name=value,name=value"."""
        for part in filter(None, values.split(",")):
            name, _, text = part.partition("=")
            name = name.strip()
            old = self.__dict__.get(name, "")
            kind = type(old)
            if kind is bool:
                self.set_hparam(name, text.strip().lower() in ("true", "1"))
            else:
                self.set_hparam(name, kind(text.strip()))
        return self

    def to_json(self):
        return _json.dumps(self.__dict__)

    def __contains__(self, key):
        return key in self.__dict__
