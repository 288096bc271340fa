"""What is asked of the arguments of operations, before anybody else hears of them."""

import torch

from . import basics


def check_members(kind, process_set):
    """The size of the set, if this rank may take part in its operations."""
    process_set.check_made()
    basics.engine()  # before init() another error than for who only asks
    size = process_set.size()
    if not process_set.included():
        raise ValueError(f"{kind}: rank {basics.rank()} is not part of {process_set}")
    return size


def check_tensors(kind, tensors, rows=False):
    if not tensors:
        raise ValueError(f"{kind}: the list of tensors is empty")
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"{kind} takes tensors, not {type(tensor).__name__}")
        if tensor.device.type != "cpu":
            raise ValueError(
                f"{kind}: the tensor is on {tensor.device}; rondo.torch takes tensors "
                "on the CPU: use .cpu()"
            )
        if tensor.layout != torch.strided:
            raise ValueError(f"{kind} takes dense tensors; this one is {tensor.layout}")
        if rows and tensor.dim() == 0:
            raise ValueError(f"{kind}: a tensor without dimensions has no rows")


def check_writable(kind, tensors):
    """Of tensors that are changed in place."""
    for tensor in tensors:
        if torch._debug_has_internal_overlap(tensor) == 1:
            raise ValueError(
                f"{kind}: elements of the tensor share memory, as those of expand() "
                "do; give it memory of its own with .clone()"
            )


def check_root(root_rank, process_set):
    check_members("broadcast", process_set)
    if root_rank not in process_set.ranks:
        raise ValueError(
            f"broadcast: root_rank {root_rank} is not one of the ranks of {process_set}"
        )


def splits_of(tensor, splits, size):
    rows = tensor.shape[0]
    if splits is None:
        if rows % size:
            raise ValueError(
                f"alltoall: {rows} rows cannot be split evenly over {size} ranks; "
                "give splits"
            )
        return [rows // size] * size
    splits = torch.as_tensor(splits)
    if splits.dim() != 1 or splits.is_floating_point() or splits.dtype == torch.bool:
        raise ValueError("alltoall: splits is a vector of whole numbers")
    splits = splits.tolist()
    if len(splits) != size or min(splits) < 0 or sum(splits) > rows:
        raise ValueError(
            f"alltoall: splits is {splits} for {size} ranks and {rows} rows; it has a "
            "number of rows for each rank, and their sum is at most the tensor's rows"
        )
    return splits
