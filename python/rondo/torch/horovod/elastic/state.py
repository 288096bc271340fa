"""State: what training goes back to when a rank is lost."""

import copy

import torch

from .. import basics
from ..errors import HostsUpdatedInterrupt
from ..functions import (
    broadcast_object,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from ..reductions import Max
from ..synchronous import allreduce
from .regroup import somebody_waits
from .sampler import ElasticSampler


class State:
    """save, restore and sync are what a kind of state says."""

    def __init__(self, bcast_object=broadcast_object, get_rank=basics.rank):
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._reset_callbacks = []
        self._hosts_updated = False
        self._commits = 0  # that all ranks have made

    def register_reset_callbacks(self, callbacks):
        """They are called when the ranks have changed, to adapt the learning rate,
        say."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        self._hosts_updated = False
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp=None, update_res=None):
        """Says that the ranks are to meet again at the next commit."""
        del timestamp, update_res
        self._hosts_updated = True

    def commit(self):
        """Saves the state: this is what training goes back to."""
        self.save()
        self.check_host_updates()
        self._commits += 1

    def check_host_updates(self):
        """Raises HostsUpdatedInterrupt, on all ranks, if one was told so, or if
        there are ranks to be taken in."""
        updated = self._hosts_updated or somebody_waits()
        told = torch.tensor([int(updated)])
        if allreduce(told, name="elastic.hosts_updated", op=Max).item():
            raise HostsUpdatedInterrupt()

    def save(self):
        raise NotImplementedError

    def restore(self):
        raise NotImplementedError

    def sync(self):
        raise NotImplementedError

    def reset(self):
        """What else is to be done when the ranks have changed."""


class ObjectState(State):
    """Attributes of any kind that can be pickled."""

    def __init__(self, bcast_object=broadcast_object, get_rank=basics.rank, **kwargs):
        super().__init__(bcast_object, get_rank)
        self._saved_state = dict(kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        ObjectState.save(self)

    def save(self):
        self._saved_state = {
            name: copy.deepcopy(getattr(self, name)) for name in self._saved_state
        }

    def restore(self):
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        """All ranks get rank 0's."""
        if self._saved_state:
            ObjectState.save(self)
            self._saved_state = self._bcast_object(self._saved_state)
            ObjectState.restore(self)


class _Handler:
    """Of an object that has a state_dict."""

    def __init__(self, value):
        self.value = value
        self.save()

    def save(self):
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        self.value.load_state_dict(copy.deepcopy(self._saved))

    def sync(self):
        self.value.load_state_dict(broadcast_object(self.value.state_dict()))
        self.save()


class _ModelHandler(_Handler):
    def sync(self):
        broadcast_parameters(self.value.state_dict(), root_rank=0)
        self.save()


class _OptimizerHandler(_Handler):
    def sync(self):
        broadcast_optimizer_state(self.value, root_rank=0)
        self.save()


_HANDLERS = (
    (torch.nn.Module, _ModelHandler),
    (torch.optim.Optimizer, _OptimizerHandler),
    (torch.optim.lr_scheduler.LRScheduler, _Handler),
    (ElasticSampler, _Handler),
)


class TorchState(ObjectState):
    """A model, an optimizer, and whatever else: models, optimizers, schedulers and
    ElasticSamplers by their state_dict, all others as objects. Each is an attribute.
    """

    _handlers = {}  # of one that is being made

    def __init__(self, model=None, optimizer=None, **kwargs):
        given = {"model": model, "optimizer": optimizer, **kwargs}
        self._handlers = {}
        objects = {}
        for name, value in given.items():
            for kind, handler in _HANDLERS:
                if isinstance(value, kind):
                    self._handlers[name] = handler(value)
                    break
            else:
                objects[name] = value
        super().__init__(**objects)
        for name, handler in self._handlers.items():
            setattr(self, name, handler.value)

    def __setattr__(self, name, value):
        if name in self._handlers:
            handler = self._handlers[name]
            if handler.value is not value:
                handler.value = value
                handler.save()
        super().__setattr__(name, value)

    def save(self):
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self):
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self):
        for handler in self._handlers.values():
            handler.sync()
        super().sync()

    def reset(self):
        """The ranks have changed: samplers divide anew."""
        for handler in self._handlers.values():
            if isinstance(handler.value, ElasticSampler):
                handler.value.reset()
