"""Parameters, the state of optimizers, and objects of all kinds, from one rank to
the others."""

import contextlib
import importlib
import pickle

import torch

from .errors import HorovodInternalError
from .handles import synchronize
from .operations import broadcast_async_
from .process_sets import global_process_set
from .synchronous import allgather, broadcast_


def _pairs(params):
    """(name, tensor) of what broadcast_parameters takes."""
    if isinstance(params, dict):
        pairs = sorted(params.items())
    elif isinstance(params, (str, bytes, torch.Tensor)) or not hasattr(
        params, "__iter__"
    ):
        raise ValueError(f"invalid params of type: {type(params)}")
    else:
        pairs = [p if isinstance(p, tuple) else (None, p) for p in params]
    pairs = [(name, p) for name, p in pairs if p is not None]
    for name, p in pairs:
        if not isinstance(p, torch.Tensor):
            raise ValueError(f'invalid params: "{name}" is of type {type(p)}')
    return pairs


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Gives the tensors of `root_rank` to all, in place: those of
    model.state_dict(), model.named_parameters() or model.parameters()."""
    handles = [
        broadcast_async_(p, root_rank, name, process_set) for name, p in _pairs(params)
    ]
    for handle in handles:
        synchronize(handle)


class _Place:
    """Stands for a tensor in what is pickled."""

    def __init__(self, number):
        self.number = number


def _without_tensors(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, dict):
        return {key: _without_tensors(one, tensors) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_without_tensors(one, tensors) for one in value)
    return value


def _with_tensors(value, tensors):
    if isinstance(value, _Place):
        return tensors[value.number]
    if isinstance(value, dict):
        return {key: _with_tensors(one, tensors) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_tensors(one, tensors) for one in value)
    return value


def broadcast_optimizer_state(
    optimizer, root_rank, model=None, process_set=global_process_set
):
    """Gives the state and the options (learning rate, ...) of `root_rank`'s
    optimizer to all."""
    del model
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    from .basics import rank

    tensors = []
    state = _without_tensors(optimizer.state_dict(), tensors)
    shapes = [(tuple(tensor.shape), tensor.dtype) for tensor in tensors]
    state, shapes = broadcast_object(
        (state, shapes), root_rank, process_set=process_set
    )
    if rank() != root_rank:
        tensors = [torch.empty(shape, dtype=dtype) for shape, dtype in shapes]
    broadcast_parameters(tensors, root_rank, process_set)
    if rank() != root_rank:
        optimizer.load_state_dict(_with_tensors(state, tensors))


def _pickled(obj):
    """Bytes of an object, or of why there are none: (bytes, error)."""
    try:
        return pickle.dumps(obj), None
    except Exception as error:
        # Functions without a name and classes within functions, as in Horovod.
        with contextlib.suppress(Exception):
            cloudpickle = importlib.import_module("cloudpickle")
            return cloudpickle.dumps(obj), None
        return str(error).encode(), error


def _bytes_tensor(data):
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _sub_name(name, what):
    return None if name is None else f"{name}.{what}"


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """The object of `root_rank`, which must be picklable."""
    from .basics import rank

    size = torch.zeros(2, dtype=torch.int64)  # bytes, whether they are an error
    data, error = b"", None
    if rank() == root_rank:
        data, error = _pickled(obj)
        size = torch.tensor([len(data), error is not None])
    broadcast_(size, root_rank, _sub_name(name, "size"), process_set)
    length, failed = size.tolist()
    body = _bytes_tensor(data or bytes(length))
    broadcast_(body, root_rank, _sub_name(name, "data"), process_set)
    if error is not None:
        raise error
    if failed:
        text = body.numpy().tobytes().decode()
        raise HorovodInternalError(f"rank {root_rank} cannot pickle its object: {text}")
    return obj if rank() == root_rank else pickle.loads(body.numpy().tobytes())


def broadcast_object_fn(root_rank=0, name=None, process_set=global_process_set):
    """broadcast_object with all but the object given."""

    def broadcast(obj):
        return broadcast_object(obj, root_rank, name, process_set)

    return broadcast


def allgather_object(obj, name=None, process_set=global_process_set):
    """A list of the objects of all ranks, which must be picklable."""
    data, error = _pickled(obj)
    size = torch.tensor([[len(data), error is not None]])
    sizes = allgather(size, _sub_name(name, "size"), process_set).tolist()
    bodies = allgather(_bytes_tensor(data), _sub_name(name, "data"), process_set)
    parts = bodies.split([length for length, _ in sizes])
    if error is not None:
        raise error
    found = []
    for of, (_, failed), part in zip(process_set.ranks, sizes, parts, strict=True):
        data = part.numpy().tobytes()
        if failed:
            text = f"rank {of} cannot pickle its object: {data.decode()}"
            raise HorovodInternalError(text)
        found.append(pickle.loads(data))
    return found
