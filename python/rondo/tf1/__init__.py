"""TensorFlow 1's names: a script of its time runs on Rondo.

    import rondo.tf1 as tf

or, without changing the script, `python -m rondo.tf1 script.py args...`.
docs/tf1.md says what there is. What there is not says so where it is asked for.
"""

from .. import (  # noqa: F401
    AUTO_REUSE,
    Assert,
    ConditionalAccumulator,
    CriticalSection,
    DType,
    FIFOQueue,
    Graph,
    GraphKeys,
    IndexedSlices,
    InteractiveSession,
    Operation,
    Print,
    QueueBase,
    RandomShuffleQueue,
    Session,
    SparseConditionalAccumulator,
    Tensor,
    TensorShape,
    Variable,
    VariableScope,
    abs,
    add,
    add_n,
    add_to_collection,
    as_dtype,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_positive,
    assert_rank,
    assert_rank_at_least,
    assert_type,
    batch_matmul,
    bfloat16,
    bool,
    broadcast_to,
    cast,
    ceil,
    check_numerics,
    cholesky,
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    constant_initializer,
    control_dependencies,
    cos,
    cumsum,
    custom_gradient,
    data,
    device,
    div,
    divide,
    double,
    einsum,
    equal,
    exp,
    fill,
    float16,
    float32,
    float64,
    floor,
    floor_div,
    floordiv,
    floormod,
    gather_nd,
    get_collection,
    get_default_graph,
    get_default_session,
    get_variable,
    get_variable_scope,
    global_norm,
    global_variables,
    global_variables_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    gradients,
    greater,
    greater_equal,
    group,
    half,
    identity,
    initializers,
    int8,
    int16,
    int32,
    int64,
    invert_permutation,
    is_nan,
    is_variable_initialized,
    less,
    less_equal,
    load_op_library,
    local_variables,
    local_variables_initializer,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    losses,
    matrix_band_part,
    matrix_determinant,
    matrix_diag,
    matrix_diag_part,
    matrix_inverse,
    matrix_set_diag,
    matrix_solve,
    matrix_triangular_solve,
    maximum,
    metrics,
    minimum,
    mod,
    model_variables,
    moving_average_variables,
    mul,
    multinomial,
    multiply,
    name_scope,
    neg,
    negative,
    newaxis,
    no_op,
    not_equal,
    ones_initializer,
    ones_like,
    pow,
    py_func,
    random_normal,
    random_normal_initializer,
    random_shuffle,
    random_uniform,
    random_uniform_initializer,
    read_file,
    report_uninitialized_variables,
    reset_default_graph,
    reshape,
    reverse,
    round,
    rsqrt,
    scatter_nd,
    set_random_seed,
    sigmoid,
    sign,
    sin,
    slice,
    sqrt,
    square,
    squared_difference,
    stack,
    stop_gradient,
    strided_slice,
    sub,
    subtract,
    tanh,
    tile,
    to_float,
    to_int32,
    to_int64,
    trainable_variables,
    truediv,
    truncated_normal,
    truncated_normal_initializer,
    uint8,
    unstack,
    variable_scope,
    variables_initializer,
    variance_scaling_initializer,
    write_file,
    zeros_initializer,
    zeros_like,
)
from ..framework.graph import GraphDef, NodeDef  # noqa: F401
from ..framework.shape import Dimension  # noqa: F401
from ..framework.summary_proto import Summary  # noqa: F401
from ..ops.rnn import reverse_sequence  # noqa: F401
from ..train.scaffold import tables_initializer  # noqa: F401
from . import (  # noqa: F401
    app,
    contrib,
    errors,
    estimator,
    examples,
    feature_column,
    flags,
    gfile,
    image,
    layers,
    logging,
    namespaces,
    nn,
    python_io,
    saved_model,
    summary,
    test,
    train,
)
from ._missing import getattr_of
from .array_ops import *  # noqa: F403
from .config import (  # noqa: F401
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from .control_ops import *  # noqa: F403
from .math_ops import *  # noqa: F403
from .parsing import (  # noqa: F401
    FixedLenFeature,
    VarLenFeature,
    decode_csv,
    decode_raw,
    parse_single_example,
    string_to_number,
)
from .readers import (  # noqa: F401
    FixedLengthRecordReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from .text import string  # noqa: F401

__version__ = VERSION = "1.15.0"

linalg = namespaces.linalg
math = namespaces.math
random = namespaces.random
io = namespaces.io
compat = namespaces.compat
resource_loader = namespaces.resource_loader

all_variables = global_variables
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer
initialize_variables = variables_initializer
softmax = nn.softmax
scalar_summary = summary.scalar
histogram_summary = summary.histogram
image_summary = summary.image
merge_all_summaries = summary.merge_all
merge_summary = summary.merge
initialize_all_tables = tables_initializer


def disable_v2_behavior():
    """There is no other."""


disable_eager_execution = disable_v2_behavior

__getattr__ = getattr_of("tf")
