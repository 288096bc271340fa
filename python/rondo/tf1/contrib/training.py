"""tf.contrib.training."""

import json as _json

from ...errors import InvalidArgumentError
from ...train.device_setter import (  # noqa: F401
    GreedyLoadBalancingStrategy,
    byte_size_load_fn,
)
from .._missing import getattr_of

__getattr__ = getattr_of("tf.contrib.training")


def _parsed(name, text, old):
    """The text as what the setting was before."""
    kind = type(old)
    truth = {"true": True, "1": True, "false": False, "0": False}
    try:
        if kind is bool:
            return truth[text.lower()]
        if kind in (int, float, str):
            return kind(text)
    except (KeyError, ValueError):
        pass
    raise InvalidArgumentError(
        f"HParams: {name}={text} is no {kind.__name__} that can be parsed; use "
        "set_hparam"
    )


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
            if name not in self.__dict__:
                raise InvalidArgumentError(f"HParams: there is no {name}")
            self.set_hparam(name, _parsed(name, text.strip(), self.__dict__[name]))
        return self

    def to_json(self):
        return _json.dumps(self.__dict__)

    def __contains__(self, key):
        return key in self.__dict__
