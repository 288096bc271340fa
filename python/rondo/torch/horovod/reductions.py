"""The operators of reductions, and for which tensors they are defined."""

import enum
import warnings

import torch


class Reduction(enum.IntEnum):
    """With Horovod's numbers: scripts may store or give them."""

    Average = 0
    Sum = 1
    Adasum = 2
    Min = 3
    Max = 4
    Product = 5


Average, Sum, Adasum, Min, Max, Product = _OPS = tuple(Reduction)

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_WHOLES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_DEFINED = {
    **dict.fromkeys(_FLOATS, _OPS),
    **dict.fromkeys(_WHOLES, (Average, Sum, Min, Max, Product)),
    **dict.fromkeys((torch.uint16, torch.uint32, torch.uint64), (Sum, Product)),
    **dict.fromkeys((torch.complex64, torch.complex128), (Average, Sum)),
    torch.bool: (Sum, Min, Max, Product),
}


def check_reduction(kind, op, tensors):
    for tensor in tensors:
        defined = _DEFINED.get(tensor.dtype, ())
        if op not in defined:
            raise ValueError(
                f"{kind}: op {op.name} is not defined for {tensor.dtype}, for which "
                f"there is {_names(defined) or 'none'}; convert the tensor first"
            )


def _names(ops):
    return ", ".join(op.name for op in ops)


def op_of(op, average):
    """What `op` and the older `average` say together."""
    if op is not None and average is not None:
        raise ValueError(
            "The op parameter supersedes average. Please provide only one of them."
        )
    if average is not None:
        warnings.warn(
            "average is deprecated; use op=hvd.Average or op=hvd.Sum",
            DeprecationWarning,
            stacklevel=3,
        )
        return Average if average else Sum
    if op is None:
        return Average
    if op not in _OPS:
        raise ValueError(f"op is {op!r}; there are {_names(_OPS)}, all of hvd")
    return Reduction(op)
