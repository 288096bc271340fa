"""The operations, asynchronous: each gives a handle for poll and synchronize.

Those of the same name meet, in whatever order the ranks ask for them; those
without a name meet in the order of their calls.
"""

import collections
import itertools

import torch

from . import basics, handles
from .checks import check_members, check_root, check_tensors, check_writable, splits_of
from .process_sets import global_process_set
from .reductions import Adasum, Average, Sum, check_reduction, op_of
from .request import Request, family

_unnamed = collections.defaultdict(itertools.count)


def forget():
    """After shutdown."""
    handles.forget()
    _unnamed.clear()


def _copies(tensors):
    return [
        tensor.detach().clone(memory_format=torch.contiguous_format)
        for tensor in tensors
    ]


def _only(results):
    return results[0]


# ---- Submitting -------------------------------------------------------------


def _submit(kind, tensors, name, process_set, finish, **fields):
    return handles.add(
        _submit_entry(kind, tensors, name, process_set, finish, **fields)
    )


def _submit_entry(kind, tensors, name, process_set, finish, **fields):
    engine = basics.engine()
    number = process_set.process_set_id
    if name is None:
        name = f"noname.{next(_unnamed[family(kind), number])}"
    request = Request(
        kind,
        f"{family(kind)}.{name}",
        number,
        [str(tensor.dtype).removeprefix("torch.") for tensor in tensors],
        [list(tensor.shape) for tensor in tensors],
        **fields,
    )
    return engine.submit(request, tensors, finish)


def _reduce(tensors, name, op, prescale, postscale, process_set, finish):
    """In place, of tensors that the operation may change."""
    size = check_members("allreduce", process_set)
    check_reduction("allreduce", op, tensors)
    if op == Adasum and size & (size - 1):
        raise NotImplementedError(
            f"Adasum needs 1, 2, 4, 8, ... ranks; the process set has {size}"
        )
    scales = {"prescale": float(prescale), "postscale": float(postscale)}
    fields = {"op": op.name, **scales}
    return _submit("allreduce", tensors, name, process_set, finish, **fields)


# ---- Reductions -------------------------------------------------------------


def allreduce_async(
    tensor,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Reduces a tensor over the ranks; the tensor stays as it is."""
    op = op_of(op, average)
    check_tensors("allreduce", [tensor])
    scales = (prescale_factor, postscale_factor)
    return _reduce(_copies([tensor]), name, op, *scales, process_set, _only)


def allreduce_async_(
    tensor,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The same in place."""
    op = op_of(op, average)
    check_tensors("allreduce", [tensor])
    check_writable("allreduce", [tensor])
    scales = (prescale_factor, postscale_factor)

    def finish(_):
        return tensor

    return _reduce([tensor.detach()], name, op, *scales, process_set, finish)


def grouped_allreduce_async(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Reduces a list of tensors as one operation."""
    op = op_of(op, average)
    tensors = list(tensors)
    check_tensors("grouped_allreduce", tensors)
    scales = (prescale_factor, postscale_factor)
    return _reduce(_copies(tensors), name, op, *scales, process_set, tuple)


def grouped_allreduce_async_(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The same in place."""
    op = op_of(op, average)
    tensors = list(tensors)
    check_tensors("grouped_allreduce", tensors)
    check_writable("grouped_allreduce", tensors)
    scales = (prescale_factor, postscale_factor)
    inner = [tensor.detach() for tensor in tensors]

    def finish(_):
        return tuple(tensors)

    return _reduce(inner, name, op, *scales, process_set, finish)


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Adds up a sparse tensor over the ranks, or averages it. The handle may be
    called instead of synchronized."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.sparse_coo:
        raise ValueError("sparse_allreduce takes tensors of layout torch.sparse_coo")
    if op not in (Average, Sum):
        raise ValueError(f"sparse_allreduce: op is {op!r}; it takes Average or Sum")
    op = op_of(op, None)
    if op == Average and not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"sparse_allreduce: {tensor.dtype} has no average; use op=hvd.Sum"
        )
    check_members("sparse_allreduce", process_set)
    tensor = tensor.detach().coalesce()
    size = tensor.size()

    def finish(results):
        indices, values = results
        return torch.sparse_coo_tensor(indices.t(), values, size).coalesce()

    parts = [tensor.indices().t().contiguous(), tensor.values().contiguous().clone()]
    fields = {"op": op.name, "size": list(size)}
    handle = _submit("sparse_allreduce", parts, name, process_set, finish, **fields)
    return handles.SparseHandle(handle)


def _scatter(tensors, name, op, process_set, prescale, postscale, finish):
    op = op_of(op, None)
    if op == Adasum:
        raise ValueError("reducescatter: op is Adasum; it takes all but that")
    check_tensors("reducescatter", tensors, rows=True)
    check_reduction("reducescatter", op, tensors)
    check_members("reducescatter", process_set)
    scales = {"prescale": float(prescale), "postscale": float(postscale)}
    tensors = _copies(tensors)
    fields = {"op": op.name, **scales}
    return _submit("reducescatter", tensors, name, process_set, finish, **fields)


def reducescatter_async(
    tensor,
    name=None,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Reduces a tensor over the ranks; each gets some of the rows."""
    scales = (prescale_factor, postscale_factor)
    return _scatter([tensor], name, op, process_set, *scales, _only)


def grouped_reducescatter_async(
    tensors,
    name=None,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """The same for a list of tensors, as one operation."""
    scales = (prescale_factor, postscale_factor)
    return _scatter(list(tensors), name, op, process_set, *scales, tuple)


# ---- Moves ------------------------------------------------------------------


def _gather(tensors, name, process_set, finish):
    check_tensors("allgather", tensors, rows=True)
    check_members("allgather", process_set)
    return _submit("allgather", _copies(tensors), name, process_set, finish)


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Joins the tensors of all ranks by rows, of which each may have another
    number."""
    return _gather([tensor], name, process_set, _only)


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """The same for a list of tensors, as one operation."""
    return _gather(list(tensors), name, process_set, tuple)


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Gives the tensor of `root_rank`, a rank of the job, to all."""
    check_tensors("broadcast", [tensor])
    check_root(root_rank, process_set)
    tensors = _copies([tensor])
    return _submit("broadcast", tensors, name, process_set, _only, root=root_rank)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """The same in place."""
    check_tensors("broadcast", [tensor])
    check_writable("broadcast", [tensor])
    check_root(root_rank, process_set)

    def finish(_):
        return tensor

    inner = [tensor.detach()]
    return _submit("broadcast", inner, name, process_set, finish, root=root_rank)


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends splits[i] rows to rank i of the set; gives what came from each, and how
    many rows did."""
    check_tensors("alltoall", [tensor], rows=True)
    size = check_members("alltoall", process_set)
    rows = splits_of(tensor, splits, size)
    whole = splits.dtype if isinstance(splits, torch.Tensor) else torch.int32

    def finish(results):
        received, counts = results
        return received, counts.to(whole)

    tensors = _copies([tensor])
    return _submit("alltoall", tensors, name, process_set, finish, splits=rows)


# ---- Without tensors --------------------------------------------------------


def barrier(process_set=global_process_set):
    """Returns when all ranks of the set have called it."""
    check_members("barrier", process_set)
    basics.engine().wait(_submit_entry("barrier", [], None, process_set, None))


def join(device=-1):
    """Says that this rank has no more data. Until all have said so, it takes part
    in the operations of the others without adding to them. Gives the rank that
    joined last."""
    del device
    engine = basics.engine()
    last = engine.wait(engine.submit(Request("join", "join")))
    _unnamed.clear()  # those that joined late have called more than others
    return last
