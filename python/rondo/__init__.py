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

from . import (
    data,
    errors,
    initializers,
    layers,
    losses,
    metrics,
    models,
    nn,
    summary,
    sysconfig,
    train,
)
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
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_default_graph,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from .framework.op_gradients import RegisterGradient
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
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
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
from .ops import names as _names
from .ops.names import *  # noqa: F403

# Python has these names too: `from rondo import *` leaves them alone.
from .ops.names import (  # noqa: A004, F401
    abs,
    pow,
    print,
    range,
    round,
    slice,
)
from .store import Store

__all__ = [
    *_names.__all__,
    "AUTO_REUSE",
    "CancelledError",
    "Communicator",
    "ConfigProto",
    "DType",
    "Error",
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
    "RegisterGradient",
    "ResourceError",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Store",
    "TcpStore",
    "Tensor",
    "TensorShape",
    "TimeoutError",
    "UnavailableError",
    "Variable",
    "VariableScope",
    "Work",
    "add_to_collection",
    "as_dtype",
    "bfloat16",
    "colocate_with",
    "constant_initializer",
    "container",
    "control_dependencies",
    "convert_to_tensor",
    "data",
    "device",
    "double",
    "empty",
    "errors",
    "float16",
    "float32",
    "float64",
    "full",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "group",
    "half",
    "initializers",
    "int16",
    "int32",
    "int64",
    "int8",
    "layers",
    "load_op_library",
    "local_variables",
    "local_variables_initializer",
    "losses",
    "metrics",
    "model_variables",
    "models",
    "moving_average_variables",
    "name_scope",
    "nn",
    "no_op",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "report_uninitialized_variables",
    "reset_default_graph",
    "set_random_seed",
    "summary",
    "sysconfig",
    "train",
    "trainable_variables",
    "truncated_normal_initializer",
    "uint8",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]


def full(shape, value, dtype="float32"):
    """As empty, with every element `value`."""
    array = empty(shape, dtype)
    array.fill(value)
    return array


# A rank that ends without closing is not a rank that was lost.
_atexit.register(_close_all)
