"""Element types: rondo.float32 and its like, equal to NumPy's of that name."""

from .._core import DType

float64 = double = DType("float64")
float32 = DType("float32")
float16 = half = DType("float16")
bfloat16 = DType("bfloat16")
int64 = DType("int64")
int32 = DType("int32")
int16 = DType("int16")
int8 = DType("int8")
uint8 = DType("uint8")
bool = DType("bool")


# What TensorFlow means by these; NumPy's float has 64 bits.
_TENSORFLOWS = {"float": float32, float: float32, "half": float16, int: int32}


def as_dtype(like):
    """The DType that a NumPy dtype, a name or another DType stands for."""
    if isinstance(like, DType):
        return like
    if isinstance(like, (str, type)) and like in _TENSORFLOWS:
        return _TENSORFLOWS[like]
    return DType(like)
