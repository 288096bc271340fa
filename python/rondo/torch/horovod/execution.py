"""What ranks do when an operation has been decided on."""

import torch

from .request import Request


def scale(tensor, factor):
    """In place; whole numbers are rounded towards zero."""
    if factor == 1.0:
        return
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.mul_(factor)
    else:
        tensor.copy_(tensor.double() * factor)


def _neutral(op, shape, dtype):
    """What a rank that joined adds to a reduction: nothing."""
    value = {"Product": 1}.get(op, 0)
    if op in ("Min", "Max"):
        info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
        value = info.max if op == "Min" else info.min
    return torch.full(shape, value, dtype=dtype)


def stand_ins(request):
    """The tensors of a rank that joined, for an operation of the others."""
    empty = request.kind in ("allgather", "sparse_allreduce")
    return [
        _neutral(request.op, [0, *shape[1:]] if empty else shape, getattr(torch, dtype))
        for shape, dtype in zip(request.shapes, request.dtypes, strict=True)
    ]


def _reduced(op, tensors, active, size):
    """The operator to run, and the factor that remains to be applied."""
    if op != "Average":
        return op, 1.0
    if active == size and all(t.is_floating_point() for t in tensors):
        return "Average", 1.0
    return "Sum", 1.0 / active


def allreduce(group, requests, tensors, decision):
    request = requests[0]
    if request.op == "Adasum":
        return [_adasum(group, tensor, request) for tensor in tensors]
    for tensor in tensors:
        scale(tensor, request.prescale)
    op, left = _reduced(request.op, tensors, decision.active, group.size)
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        group.allreduce([t for t in tensors if t.dtype == dtype], op)
    for tensor in tensors:
        scale(tensor, left * request.postscale)
    return tensors


def _combine(a, b):
    """Adasum of two: their sum where they are orthogonal, their mean where they
    are parallel."""
    x, y = a.flatten().double(), b.flatten().double()
    dot, xx, yy = torch.dot(x, y), torch.dot(x, x), torch.dot(y, y)
    of_a = 1.0 - dot / (2.0 * xx) if xx > 0 else torch.tensor(1.0)
    of_b = 1.0 - dot / (2.0 * yy) if yy > 0 else torch.tensor(1.0)
    return (of_a * a.double() + of_b * b.double()).to(a.dtype)


def _adasum(group, tensor, request):
    """Neighbours are combined, then pairs of them, on every rank alike."""
    scale(tensor, request.prescale)
    parts = group.allgather(tensor.reshape(1, -1), [1] * group.size)
    parts = list(parts.unbind())
    while len(parts) > 1:
        parts = [_combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    tensor.copy_(parts[0].view_as(tensor))
    scale(tensor, request.postscale)
    return tensor


def allgather(group, requests, tensors, decision):
    del requests
    return [
        group.allgather(tensor, rows)
        for tensor, rows in zip(tensors, decision.rows, strict=True)
    ]


def sparse_allreduce(group, requests, tensors, decision):
    """tensors: indices, one row for each entry, and values."""
    indices, values = allgather(group, requests, tensors, decision)
    if requests[0].op == "Average":
        scale(values, 1.0 / decision.active)
    return [indices, values]


def broadcast(group, requests, tensors, decision):
    del decision
    root = group.ranks.index(requests[0].root)
    for tensor in tensors:
        group.broadcast(tensor, root)
    return tensors


def alltoall(group, requests, tensors, decision):
    del requests
    to = decision.rows[group.rank]
    rows = [splits[group.rank] for splits in decision.rows]
    tensor = tensors[0][: sum(to)]
    return [group.alltoall(tensor, to, rows), torch.tensor(rows, dtype=torch.int32)]


def reducescatter(group, requests, tensors, decision):
    request = requests[0]
    results = []
    for tensor in tensors:
        scale(tensor, request.prescale)
        op, left = _reduced(request.op, [tensor], decision.active, group.size)
        results.append(group.reduce_scatter(tensor, op))
        scale(results[-1], left * request.postscale)
    return results


def nothing(group, requests, tensors, decision):
    """That all ranks have come is all there is to it."""
    del group, requests, tensors
    return decision.value


RUNS = {
    "allreduce": allreduce,
    "allgather": allgather,
    "sparse_allreduce": sparse_allreduce,
    "broadcast": broadcast,
    "alltoall": alltoall,
    "reducescatter": reducescatter,
    "barrier": nothing,
    "join": nothing,
}


def run(group, entries, decision):
    """Runs what was decided, and tells the entries."""
    requests = [entry.request for entry in entries]
    tensors = [tensor for entry in entries for tensor in entry.tensors]
    if not entries and decision.like is not None:
        requests = [Request(*decision.like)]
        tensors = stand_ins(requests[0])
    results = RUNS[decision.kind](group, requests, tensors, decision)
    if len(entries) == 1:
        entries[0].succeed(results)
        return
    at = 0
    for entry in entries:
        entry.succeed(results[at : at + len(entry.tensors)])
        at += len(entry.tensors)
