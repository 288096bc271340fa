"""The operations that wait for their result. Gradients pass through them."""

import torch

from . import operations as ops
from .checks import check_tensors
from .compression import Compression
from .handles import synchronize
from .process_sets import global_process_set
from .reductions import Average, Sum, op_of


def _differentiable(name, run, back):
    """An autograd function: run(context, *tensors) gives a tensor or a tuple of
    them, back(context, *gradients) the gradients of the tensors."""

    def forward(ctx, context, *tensors):
        ctx.context = context
        ctx.save = [tuple(tensor.shape) for tensor in tensors]
        result = run(context, *tensors)
        if isinstance(result, tuple):
            whole = [x for x in result if not x.is_floating_point()]
            ctx.mark_non_differentiable(*whole)
        return result

    def backward(ctx, *gradients):
        return (None, *back(ctx.context, ctx.save, *gradients))

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members)


# ---- allreduce --------------------------------------------------------------


def _reduce(context, *tensors):
    name, options = context
    handle = ops.grouped_allreduce_async(tensors, name=name, **options)
    return synchronize(handle)


def _reduce_back(context, shapes, *gradients):
    del shapes
    return _reduce((None, context[1]), *gradients)


_Allreduce = _differentiable("Allreduce", _reduce, _reduce_back)


def _reduced(tensors, name, compression, **options):
    check_tensors("allreduce", tensors)
    packed, contexts = zip(*map(compression.compress, tensors), strict=True)
    results = _Allreduce.apply((name, options), *packed)
    return [
        compression.decompress(result, ctx)
        for result, ctx in zip(results, contexts, strict=True)
    ]


def allreduce(
    tensor,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The reduction of a tensor over the ranks; the tensor stays as it is."""
    op = op_of(op, average)
    if isinstance(tensor, torch.Tensor) and tensor.is_sparse:
        return synchronize(ops.sparse_allreduce_async(tensor, name, op, process_set))
    return _reduced(
        [tensor],
        name,
        compression,
        op=op,
        prescale_factor=prescale_factor,
        postscale_factor=postscale_factor,
        process_set=process_set,
    )[0]


def grouped_allreduce(
    tensors,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The reductions of a list of tensors, as one operation."""
    return _reduced(
        list(tensors),
        name,
        compression,
        op=op_of(op, average),
        prescale_factor=prescale_factor,
        postscale_factor=postscale_factor,
        process_set=process_set,
    )


def allreduce_(
    tensor,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """allreduce in place."""
    scales = (prescale_factor, postscale_factor)
    op = op_of(op, average)
    return synchronize(
        ops.allreduce_async_(tensor, None, name, op, *scales, process_set)
    )


def grouped_allreduce_(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """grouped_allreduce in place."""
    scales = (prescale_factor, postscale_factor)
    op = op_of(op, average)
    return synchronize(
        ops.grouped_allreduce_async_(tensors, None, name, op, *scales, process_set)
    )


# ---- allgather --------------------------------------------------------------


def _gather(context, *tensors):
    name, process_set = context
    handle = ops.grouped_allgather_async(tensors, name, process_set)
    return synchronize(handle)


def _gather_back(context, shapes, *gradients):
    """Each rank's rows of the mean of all ranks' gradients."""
    process_set = context[1]
    rows = torch.tensor([[shape[0] for shape in shapes]])
    rows = synchronize(ops.allgather_async(rows, process_set=process_set))
    mean = _reduce((None, {"op": Average, "process_set": process_set}), *gradients)
    own = process_set.rank()
    begins = rows[:own].sum(0).tolist()
    return [
        gradient.narrow(0, begin, shape[0])
        for gradient, begin, shape in zip(mean, begins, shapes, strict=True)
    ]


_Allgather = _differentiable("Allgather", _gather, _gather_back)


def allgather(tensor, name=None, process_set=global_process_set):
    """The tensors of all ranks, joined by rows, of which each may have another
    number."""
    return _Allgather.apply((name, process_set), tensor)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """The same for a list of tensors, as one operation."""
    return _Allgather.apply((name, process_set), *tensors)


# ---- broadcast --------------------------------------------------------------


def _cast(context, tensor):
    root, name, process_set = context
    return synchronize(ops.broadcast_async(tensor, root, name, process_set))


def _cast_back(context, shapes, gradient):
    del shapes
    root, _, process_set = context
    options = {"op": Average, "process_set": process_set}
    mean = _reduce((None, options), gradient)[0]
    own = process_set.ranks[process_set.rank()]
    return [mean if own == root else mean * 0]


_Broadcast = _differentiable("Broadcast", _cast, _cast_back)


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """The tensor of `root_rank`, a rank of the job."""
    return _Broadcast.apply((root_rank, name, process_set), tensor)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """broadcast in place."""
    return synchronize(ops.broadcast_async_(tensor, root_rank, name, process_set))


# ---- alltoall ---------------------------------------------------------------


def _exchange(context, tensor):
    splits, name, process_set = context
    received, rows = synchronize(ops.alltoall_async(tensor, splits, name, process_set))
    context.append(rows)
    return received, rows


def _exchange_back(context, shapes, gradient, _):
    """What came from a rank goes back to it."""
    process_set, rows = context[2], context[3]
    back, _ = synchronize(ops.alltoall_async(gradient, rows, process_set=process_set))
    full = gradient.new_zeros(shapes[0])  # rows may have been left out
    full[: back.shape[0]] = back
    return [full]


_Alltoall = _differentiable("Alltoall", _exchange, _exchange_back)


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends splits[i] rows to rank i of the set; gives what came from each, and,
    where splits were given, how many rows did."""
    received, rows = _Alltoall.apply([splits, name, process_set], tensor)
    return received if splits is None else (received, rows)


# ---- reducescatter ----------------------------------------------------------


def _scatter(context, *tensors):
    name, options = context
    handle = ops.grouped_reducescatter_async(tensors, name, **options)
    return synchronize(handle)


def _scatter_back(context, shapes, *gradients):
    del shapes
    options = context[1]
    process_set = options["process_set"]
    factor = options["prescale_factor"] * options["postscale_factor"]
    if options["op"] == Sum:
        factor *= process_set.size()
    gathered = _gather((None, process_set), *gradients)
    return [gradient * factor for gradient in gathered]


_Reducescatter = _differentiable("Reducescatter", _scatter, _scatter_back)


def _scattered(tensors, name, compression, **options):
    check_tensors("reducescatter", tensors)
    packed, contexts = zip(*map(compression.compress, tensors), strict=True)
    results = _Reducescatter.apply((name, options), *packed)
    return [
        compression.decompress(result, ctx)
        for result, ctx in zip(results, contexts, strict=True)
    ]


def reducescatter(
    tensor,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """This rank's rows of the reduction of a tensor over the ranks."""
    return grouped_reducescatter(
        [tensor], name, compression, op, process_set, prescale_factor, postscale_factor
    )[0]


def grouped_reducescatter(
    tensors,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """The same for a list of tensors, as one operation."""
    return _scattered(
        list(tensors),
        name,
        compression,
        op=op,
        process_set=process_set,
        prescale_factor=prescale_factor,
        postscale_factor=postscale_factor,
    )
