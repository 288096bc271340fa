"""What ranks do when an operation has been decided on."""

import torch

from .request import Request


def _is_whole(tensor):
    return not (tensor.is_floating_point() or tensor.is_complex())


def scale(tensor, factor):
    """In place; whole numbers are rounded towards zero."""
    if factor == 1.0:
        return
    if _is_whole(tensor):
        tensor.copy_(tensor.double() * factor)
    else:
        tensor.mul_(factor)


def _neutral(op, shape, dtype):
    """What a rank that joined adds to a reduction: nothing."""
    value = {"Product": 1}.get(op, 0)
    if op in ("Min", "Max") and dtype == torch.bool:
        value = op == "Min"
    elif op in ("Min", "Max"):
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


class _Reduction:
    """An operator, and what is to be done to tensors before and after it."""

    def __init__(self, request, active, size):
        self._request = request
        self._divisor = 1
        self.op = request.op
        if request.op == "Average" and active < size:  # over those that have not joined
            self.op, self._divisor = "Sum", active

    def begin(self, tensor):
        factor = self._request.prescale
        if not _is_whole(tensor):  # divided at once: the sum may be too much for it
            factor /= self._divisor
        scale(tensor, factor)

    def end(self, tensor):
        if self._divisor > 1 and _is_whole(tensor):
            tensor.div_(self._divisor, rounding_mode="trunc")
        scale(tensor, self._request.postscale)


def allreduce(group, requests, tensors, decision):
    request = requests[0]
    if request.op == "Adasum":
        return [_adasum(group, tensor, request) for tensor in tensors]
    reduction = _Reduction(request, decision.active, group.size)
    for tensor in tensors:
        reduction.begin(tensor)
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        group.allreduce([t for t in tensors if t.dtype == dtype], reduction.op)
    for tensor in tensors:
        reduction.end(tensor)
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
    reduction = _Reduction(requests[0], decision.active, group.size)
    results = []
    for tensor in tensors:
        reduction.begin(tensor)
        results.append(group.reduce_scatter(tensor, reduction.op))
        reduction.end(results[-1])
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
