"""That names, arguments and defaults are Horovod's, and what its environment says."""

import inspect
import json
import os

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


def test_elastic_is_a_module_too():
    from rondo.torch.elastic import TorchState, run

    assert run is hvd.elastic.run and TorchState is hvd.elastic.TorchState


def _dynamic(rank, size):
    hvd.shutdown()
    hvd.init(process_sets="dynamic")
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


def _num_groups(rank, size):
    weight = torch.nn.Parameter(torch.zeros(1))
    with pytest.warns(UserWarning, match="num_groups is deprecated"):
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([weight], lr=1.0), num_groups=1
        )
    (weight * (rank + 1)).sum().backward()
    optimizer.step()
    return weight.item()


def test_num_groups():
    assert horovod_ranks.run(2, _num_groups) == [-1.5, -1.5]
