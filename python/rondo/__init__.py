"""Graphs of operations on tensors, and collectives between processes.

    import rondo as rd
    x = rd.placeholder(rd.float32, [None, 784])
    y = rd.layers.dense(x, 10)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        print(session.run(y, feed_dict={x: images}))

The names are those of TensorFlow 1. Collectives are on NumPy arrays:

    comm = rd.Communicator.world()
    gradients = np.full(4, comm.rank, np.float32)
    comm.allreduce(gradients)  # sum, in place

Start that with `rondo run -n 4 -- python program.py`, torchrun, mpirun or srun.
"""

import atexit as _atexit

from . import data, errors, initializers, layers, losses, models, nn, summary, train
from ._core import (
    Communicator,
    DType,
    FileStore,
    MemoryStore,
    TcpStore,
    Work,
    _close_all,
    empty,
)
from .errors import (
    CancelledError,
    Error,
    InternalError,
    InvalidArgumentError,
    MismatchError,
    OutOfRangeError,
    PeerLostError,
    PermissionError,
    ResourceError,
    TimeoutError,
    UnavailableError,
)
from .framework.build import convert_to_tensor
from .framework.dtypes import (
    as_dtype,
    bfloat16,
    bool,  # noqa: F401
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from .framework.gradients import gradients
from .framework.graph import (
    Graph,
    GraphKeys,
    Operation,
    add_to_collection,
    control_dependencies,
    device,
    get_collection,
    get_default_graph,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from .framework.op_library import load_op_library
from .framework.session import (
    ConfigProto,
    InteractiveSession,
    RunMetadata,
    RunOptions,
    Session,
    get_default_session,
)
from .framework.shape import TensorShape
from .framework.tensor import IndexedSlices, Tensor
from .framework.variable import (
    Variable,
    global_variables,
    global_variables_initializer,
    group,
    no_op,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from .framework.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_variable,
    get_variable_scope,
    variable_scope,
)
from .initializers import constant as constant_initializer
from .initializers import glorot_normal as glorot_normal_initializer
from .initializers import glorot_uniform as glorot_uniform_initializer
from .initializers import ones as ones_initializer
from .initializers import random_normal as random_normal_initializer
from .initializers import random_uniform as random_uniform_initializer
from .initializers import truncated_normal as truncated_normal_initializer
from .initializers import variance_scaling as variance_scaling_initializer
from .initializers import zeros as zeros_initializer
from .ops.accumulator import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from .ops.array import (
    boolean_mask,
    broadcast_to,
    concat,
    constant,
    expand_dims,
    fill,
    gather,
    gather_nd,
    identity,
    invert_permutation,
    newaxis,
    one_hot,
    ones,
    ones_like,
    pad,
    placeholder,
    rank,
    reshape,
    reverse,
    scatter_nd,
    sequence_mask,
    shape,
    size,
    slice,  # noqa: F401
    split,
    squeeze,
    stack,
    stop_gradient,
    strided_slice,
    take_along_axis,
    tile,
    transpose,
    unique,
    unique_with_counts,
    unstack,
    where,
    zeros_like,
)
from .ops.array import zeros as _graph_zeros
from .ops.check import (
    Assert,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_scalar,
    assert_type,
)
from .ops.control import (
    cond,
    while_loop,
)
from .ops.critical_section import CriticalSection
from .ops.host_call import custom_gradient, py_func
from .ops.io import read_file, write_file
from .ops.math import (
    abs,  # noqa: F401
    add,
    add_n,
    argmax,
    argmin,
    cast,
    ceil,
    check_numerics,
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    cos,
    cumsum,
    div,
    divide,
    equal,
    exp,
    floor,
    floor_div,
    floordiv,
    floormod,
    global_norm,
    greater,
    greater_equal,
    is_nan,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mod,
    mul,
    multiply,
    neg,
    negative,
    not_equal,
    pow,  # noqa: F401
    range,  # noqa: F401
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    round,  # noqa: F401
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    squared_difference,
    sub,
    subtract,
    tanh,
    to_float,
    to_int32,
    to_int64,
    truediv,
)
from .ops.matrix import (
    batch_matmul,
    cholesky,
    einsum,
    matmul,
    matrix_band_part,
    matrix_determinant,
    matrix_diag,
    matrix_diag_part,
    matrix_inverse,
    matrix_set_diag,
    matrix_solve,
    matrix_triangular_solve,
)
from .ops.printing import Print, print  # noqa: A004, F401
from .ops.queue import FIFOQueue, QueueBase, RandomShuffleQueue
from .ops.random import (
    multinomial,
    random_normal,
    random_shuffle,
    random_uniform,
    truncated_normal,
)
from .ops.state import (
    assign,
    assign_add,
    assign_sub,
    is_variable_initialized,
    scatter_add,
    scatter_update,
)
from .store import Store

__all__ = [
    "AUTO_REUSE",
    "Assert",
    "CancelledError",
    "Communicator",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "CriticalSection",
    "DType",
    "Error",
    "FIFOQueue",
    "FileStore",
    "Graph",
    "GraphKeys",
    "IndexedSlices",
    "InteractiveSession",
    "InternalError",
    "InvalidArgumentError",
    "MemoryStore",
    "MismatchError",
    "Operation",
    "OutOfRangeError",
    "PeerLostError",
    "PermissionError",
    "Print",
    "QueueBase",
    "RandomShuffleQueue",
    "ResourceError",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SparseConditionalAccumulator",
    "Store",
    "TcpStore",
    "Tensor",
    "TensorShape",
    "TimeoutError",
    "UnavailableError",
    "Variable",
    "VariableScope",
    "Work",
    "add",
    "add_n",
    "add_to_collection",
    "argmax",
    "argmin",
    "as_dtype",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_type",
    "assign",
    "assign_add",
    "assign_sub",
    "batch_matmul",
    "bfloat16",
    "boolean_mask",
    "broadcast_to",
    "cast",
    "ceil",
    "check_numerics",
    "cholesky",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "concat",
    "cond",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cumsum",
    "custom_gradient",
    "data",
    "device",
    "div",
    "divide",
    "double",
    "einsum",
    "empty",
    "equal",
    "errors",
    "exp",
    "expand_dims",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "full",
    "gather",
    "gather_nd",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "get_variable",
    "get_variable_scope",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "greater",
    "greater_equal",
    "group",
    "half",
    "identity",
    "initializers",
    "int16",
    "int32",
    "int64",
    "int8",
    "invert_permutation",
    "is_nan",
    "is_variable_initialized",
    "layers",
    "less",
    "less_equal",
    "load_op_library",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "losses",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_triangular_solve",
    "maximum",
    "minimum",
    "mod",
    "models",
    "mul",
    "multinomial",
    "multiply",
    "name_scope",
    "neg",
    "negative",
    "newaxis",
    "nn",
    "no_op",
    "not_equal",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "pad",
    "placeholder",
    "py_func",
    "random_normal",
    "random_normal_initializer",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "rank",
    "read_file",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "report_uninitialized_variables",
    "reset_default_graph",
    "reshape",
    "reverse",
    "rsqrt",
    "scatter_add",
    "scatter_nd",
    "scatter_update",
    "sequence_mask",
    "set_random_seed",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "size",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "sub",
    "subtract",
    "summary",
    "take_along_axis",
    "tanh",
    "tile",
    "to_float",
    "to_int32",
    "to_int64",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "uint8",
    "unique",
    "unique_with_counts",
    "unstack",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "where",
    "while_loop",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]


def full(shape, value, dtype="float32"):
    """As empty, with every element `value`."""
    array = empty(shape, dtype)
    array.fill(value)
    return array


def zeros(shape, dtype="float32", name=None):
    """As empty, with every element 0: an array, which wherever a tensor is
    expected is a constant of the graph.

    A tensor of the graph with a name, a type of Rondo's (rondo.float32), or a
    shape with tensors in it.
    """
    if name is not None or isinstance(dtype, DType) or _of_graph(shape):
        return _graph_zeros(shape, dtype, name)
    return full(shape, 0, dtype)


def _of_graph(shape):
    if isinstance(shape, (list, tuple)):
        return any(hasattr(d, "graph") for d in shape)
    return hasattr(shape, "graph") or isinstance(shape, TensorShape)


# A rank that ends without closing is not a rank that was lost.
_atexit.register(_close_all)
