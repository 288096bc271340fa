"""That names, arguments and defaults are Horovod's, and what its environment says."""

import enum
import importlib
import inspect
import json
import os
import pickle
import sys
import types

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
from horovod_ranks import raises

SCALES = "prescale_factor=1.0, postscale_factor=1.0"
SET = "process_set=all"
REDUCE = f"average=None, name=None, op=None, {SCALES}, {SET}"
PACKED = f"average=None, name=None, compression=none, op=None, {SCALES}, {SET}"
SCATTER = f"op=Average, {SET}, {SCALES}"
# As in the documentation of Horovod 0.28.
SIGNATURES = {
    "allreduce": f"tensor, {PACKED}",
    "allreduce_": f"tensor, {REDUCE}",
    "allreduce_async": f"tensor, {REDUCE}",
    "allreduce_async_": f"tensor, {REDUCE}",
    "grouped_allreduce": f"tensors, {PACKED}",
    "grouped_allreduce_": f"tensors, {REDUCE}",
    "grouped_allreduce_async": f"tensors, {REDUCE}",
    "grouped_allreduce_async_": f"tensors, {REDUCE}",
    "sparse_allreduce_async": f"tensor, name, op, {SET}",
    "allgather": f"tensor, name=None, {SET}",
    "allgather_async": f"tensor, name=None, {SET}",
    "grouped_allgather": f"tensors, name=None, {SET}",
    "grouped_allgather_async": f"tensors, name=None, {SET}",
    "broadcast": f"tensor, root_rank, name=None, {SET}",
    "broadcast_": f"tensor, root_rank, name=None, {SET}",
    "broadcast_async": f"tensor, root_rank, name=None, {SET}",
    "broadcast_async_": f"tensor, root_rank, name=None, {SET}",
    "alltoall": f"tensor, splits=None, name=None, {SET}",
    "alltoall_async": f"tensor, splits=None, name=None, {SET}",
    "reducescatter": f"tensor, name=None, compression=none, {SCATTER}",
    "reducescatter_async": f"tensor, name=None, {SCATTER}",
    "grouped_reducescatter": f"tensors, name=None, compression=none, {SCATTER}",
    "grouped_reducescatter_async": f"tensors, name=None, {SCATTER}",
    "barrier": SET,
    "join": "device=-1",
    "poll": "handle",
    "synchronize": "handle",
    "init": "comm=None, process_sets=None",
    "start_timeline": "file_path, mark_cycles=False",
    "add_process_set": "process_set",
    "remove_process_set": "process_set",
    "DistributedOptimizer": "optimizer, named_parameters=None, compression=none, "
    "backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0, "
    f"num_groups=0, groups=None, sparse_as_dense=False, {SET}",
    "broadcast_object": f"obj, root_rank=0, name=None, {SET}",
    "allgather_object": f"obj, name=None, {SET}",
}
NAMES = {hvd.Compression.none: "none", hvd.global_process_set: "all"}


def signature(function):
    def written(value):
        if isinstance(value, enum.Enum):
            return value.name
        if isinstance(value, str) or not getattr(value, "__hash__", None):
            return str(value)
        return NAMES.get(value, str(value))

    return ", ".join(
        p.name if p.default is p.empty else f"{p.name}={written(p.default)}"
        for p in inspect.signature(function).parameters.values()
    )


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert signature(getattr(hvd, name)) == SIGNATURES[name]


def test_operators_are_numbers():
    ops = (hvd.Average, hvd.Sum, hvd.Adasum, hvd.Min, hvd.Max, hvd.Product)
    assert ops == (0, 1, 2, 3, 4, 5)


def _variables(rank, size):
    del rank, size
    whose = ("", "LOCAL_", "CROSS_")
    names = [f"HOROVOD_{of}{what}" for of in whose for what in ("RANK", "SIZE")]
    return [int(os.environ[name]) for name in names]


def test_variables_of_horovodrun():
    found = horovod_ranks.run(2, _variables)
    assert found == [[0, 2, 0, 2, 0, 1], [1, 2, 1, 2, 0, 1]]


def test_elastic_is_a_module_too():
    from rondo.torch.elastic import TorchState, run

    assert run is hvd.elastic.run and TorchState is hvd.elastic.TorchState


# Modules of horovod.torch, and what scripts import from them.
MODULES = {
    "compression": ["Compression", "Compressor", "FP16Compressor", "NoneCompressor"],
    "elastic.sampler": ["ElasticSampler"],
    "elastic.state": ["ObjectState", "TorchState"],
    "functions": ["allgather_object", "broadcast_object", "broadcast_parameters"],
    "mpi_ops": ["Average", "HorovodInternalError", "allreduce_async_", "rank", "size"],
    "optimizer": ["DistributedOptimizer"],
    "sync_batch_norm": ["SyncBatchNorm"],
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module = importlib.import_module(f"rondo.torch.{name}")
    for what in MODULES[name]:
        assert getattr(module, what) is not None
        assert getattr(hvd, what, getattr(module, what)) is getattr(module, what)


def test_modules_are_attributes():
    assert hvd.mpi_ops.size is hvd.size and hvd.elastic.sampler and hvd.elastic.state
    assert hvd.compression.FP16Compressor is hvd.Compression.fp16


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("State", "bcast_object, get_rank"),
        ("ObjectState", "bcast_object, get_rank, kwargs"),
        ("TorchState", "model, optimizer, kwargs"),
        ("ElasticSampler", "dataset, shuffle, seed"),
        ("run", "func"),
    ],
)
def test_arguments_of_elastic(name, expected):
    taken = inspect.signature(getattr(hvd.elastic, name)).parameters
    assert ", ".join(taken) == expected


def test_a_state_of_a_script():
    class Mine(hvd.elastic.State):
        def __init__(self):
            super().__init__(hvd.broadcast_object, hvd.rank)

    class Torch(hvd.elastic.TorchState):
        def __init__(self):
            self.before = 1  # before the state is made
            super().__init__(model=None, epoch=2)

    state = Torch()
    assert Mine()._rank is hvd.rank
    assert (state.before, state.model, state.epoch) == (1, None, 2)


def _unnamed_functions(rank, size):
    """Where there is cloudpickle, which Horovod needs; a stand-in here."""
    module = types.ModuleType("cloudpickle")
    module.dumps = lambda obj: pickle.dumps(obj(20))
    sys.modules["cloudpickle"] = module
    double = hvd.broadcast_object(lambda x: 2 * x, 0)
    assert double(21) == 42 if rank == 0 else double == 40
    sys.modules["cloudpickle"] = None  # cannot be imported
    text = "pickle" if rank == 0 else "rank 0 cannot pickle its object"
    raises(Exception, text, hvd.broadcast_object, lambda x: x, 0)


def test_functions_without_a_name():
    horovod_ranks.run(2, _unnamed_functions)


def test_an_operation_before_init():
    raises(hvd.HorovodInternalError, "use hvd.init()", hvd.allreduce, torch.ones(1))
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    raises(ValueError, "use hvd.init()", hvd.DistributedOptimizer, sgd)


def _dynamic(rank, size):
    hvd.shutdown()
    hvd.init(process_sets="Dynamic")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
    hvd.shutdown()
    raises(ValueError, "list of ProcessSets", hvd.init, process_sets="static")
    hvd.shutdown()
    hvd.init()


def test_dynamic_process_sets():
    horovod_ranks.run(2, _dynamic)


def _traced(rank, size, path):
    hvd.allreduce(torch.ones(1), name="grad")
    hvd.shutdown()
    with open(path if rank == 0 else f"{path}.{rank}") as file:
        events = json.load(file)
    return [event["name"] for event in events if event.get("ph") == "B"]


def test_timeline_of_the_environment(tmp_path):
    path = os.fspath(tmp_path / "trace.json")
    for phases in horovod_ranks.run(2, _traced, path, HOROVOD_TIMELINE=path):
        assert phases[:2] == ["NEGOTIATE_ALLREDUCE", "ALLREDUCE"]


def _traced_later(rank, size, path):
    hvd.allreduce(torch.ones(1), name="early")
    hvd.start_timeline(path)
    hvd.allreduce(torch.ones(1), name="late")
    hvd.stop_timeline()
    with open(path if rank == 0 else f"{path}.{rank}") as file:
        return "early" in (text := file.read()), "late" in text


def test_timeline_that_a_script_starts(tmp_path, monkeypatch):
    """Horovod wants HOROVOD_TIMELINE=DYNAMIC for it, which names no file."""
    monkeypatch.chdir(tmp_path)
    path = os.fspath(tmp_path / "trace.json")
    found = horovod_ranks.run(2, _traced_later, path, HOROVOD_TIMELINE="DYNAMIC")
    assert found == [(False, True)] * 2
    assert sorted(os.listdir(tmp_path)) == ["trace.json", "trace.json.1"]


def _num_groups(rank, size):
    weight = torch.nn.Parameter(torch.zeros(1))
    with pytest.warns(DeprecationWarning, match="num_groups is deprecated"):
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([weight], lr=1.0), num_groups=1
        )
    (weight * (rank + 1)).sum().backward()
    optimizer.step()
    return weight.item()


def test_num_groups():
    assert horovod_ranks.run(2, _num_groups) == [-1.5, -1.5]
