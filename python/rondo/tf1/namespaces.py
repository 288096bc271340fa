"""tf.math, tf.linalg and other modules of names that are elsewhere too."""

import os
import sys
import types

import rondo as rd

from . import array_ops, math_ops, parsing, python_io
from . import gfile as _gfile
from . import nn as _nn
from ._missing import getattr_of


def _module(name, **names):
    module = types.ModuleType(f"rondo.tf1.{name}", f"tf.{name}.")
    module.__dict__.update(names)
    module.__getattr__ = getattr_of(f"tf.{name}")
    return module


def _named(source, names):
    return {n: getattr(source, n) for n in names.split()}


math = _module(
    "math",
    **_named(
        rd,
        "abs add add_n ceil cos cumsum divide equal exp floor floordiv floormod "
        "greater greater_equal is_nan less less_equal log log1p logical_and "
        "logical_not logical_or maximum minimum mod multiply negative "
        "not_equal pow round rsqrt sigmoid sign sin sqrt square "
        "squared_difference subtract tanh truediv",
    ),
    **_named(
        math_ops,
        "argmax argmin reduce_sum reduce_mean reduce_prod reduce_max reduce_min "
        "reduce_all reduce_any reduce_logsumexp reciprocal expm1 log_sigmoid tan "
        "is_inf is_finite logical_xor count_nonzero unsorted_segment_sum",
    ),
    **_named(_nn, "softplus softsign l2_normalize top_k in_top_k"),
)
linalg = _module(
    "linalg",
    matmul=math_ops.matmul,
    inv=rd.matrix_inverse,
    det=rd.matrix_determinant,
    solve=rd.matrix_solve,
    diag=rd.matrix_diag,
    diag_part=rd.matrix_diag_part,
    set_diag=rd.matrix_set_diag,
    band_part=rd.matrix_band_part,
    triangular_solve=rd.matrix_triangular_solve,
    cholesky=rd.cholesky,
    eye=array_ops.eye,
    norm=math_ops.norm,
    trace=math_ops.trace,
    transpose=array_ops.matrix_transpose,
    tensordot=math_ops.tensordot,
    einsum=rd.einsum,
    l2_normalize=_nn.l2_normalize,
)
random = _module(
    "random",
    uniform=rd.random_uniform,
    normal=rd.random_normal,
    truncated_normal=rd.truncated_normal,
    shuffle=rd.random_shuffle,
    multinomial=rd.multinomial,
    categorical=rd.multinomial,
    set_random_seed=rd.set_random_seed,
)
io = _module(
    "io",
    gfile=_gfile,
    read_file=rd.read_file,
    write_file=rd.write_file,
    decode_csv=parsing.decode_csv,
    decode_raw=parsing.decode_raw,
    parse_single_example=parsing.parse_single_example,
    FixedLenFeature=parsing.FixedLenFeature,
    VarLenFeature=parsing.VarLenFeature,
    TFRecordWriter=python_io.TFRecordWriter,
    tf_record_iterator=python_io.tf_record_iterator,
)


def as_text(bytes_or_text, encoding="utf-8"):
    """As text."""
    return bytes_or_text if isinstance(bytes_or_text, str) else (
        bytes(bytes_or_text).decode(encoding)
    )  # fmt: skip


def as_bytes(bytes_or_text, encoding="utf-8"):
    """As bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    return bytes(bytes_or_text)


compat = _module(
    "compat",
    as_text=as_text,
    as_str=as_text,
    as_str_any=str,
    as_bytes=as_bytes,
    v1=sys.modules["rondo.tf1"],
)


def get_path_to_datafile(path):
    """A path beside the program."""
    folder = os.path.dirname(os.path.abspath(sys.argv[0] or "."))
    return os.path.join(folder, path)


resource_loader = _module("resource_loader", get_path_to_datafile=get_path_to_datafile)
