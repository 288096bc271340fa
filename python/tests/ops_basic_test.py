"""What every graph has: constants, shapes, casts."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo
from rondo import _core

FLOATS = [np.float64, np.float32, np.float16]
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]
DTYPES = [*FLOATS, *INTEGERS, np.bool_]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4)]


def some(shape, dtype):
    """Small whole numbers, which every type holds exactly."""
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


def same(got, want):
    want = np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_gives_its_input_or_something_like_it(dtype, shape):
    x = some(shape, dtype)
    same(run_op("Const", [], value=x)[0], x)
    same(run_op("Identity", [x])[0], x)
    same(run_op("StopGradient", [x])[0], x)
    same(run_op("ZerosLike", [x])[0], np.zeros_like(x))
    same(run_op("OnesLike", [x])[0], np.ones_like(x))
    value = some((), dtype)
    for index in np.int32, np.int64:
        wanted = np.array(shape, index)
        same(run_op("Fill", [wanted, value])[0], np.full(shape, value))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(dtype, shape):
    x = some(shape, dtype)
    same(run_op("Shape", [x])[0], np.array(shape, np.int64))
    same(run_op("Rank", [x])[0], np.int64(x.ndim))
    same(run_op("Size", [x])[0], np.int64(x.size))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reshape(dtype):
    x = some((2, 3, 4), dtype)
    for shape in [(24,), (-1,), (4, 6), (-1, 3), (2, -1, 2), (1, 24, 1), (3, 2, 4)]:
        for index in np.int32, np.int64:
            same(run_op("Reshape", [x, np.array(shape, index)])[0], x.reshape(shape))
    same(run_op("Reshape", [x[:, :0], np.array([0, 5])])[0], np.zeros((0, 5), dtype))
    same(run_op("Reshape", [x[0, 0, :1], np.zeros(0, int)])[0], x[0, 0, 0])
    with pytest.raises(rondo.Error, match="24 elements cannot"):
        run_op("Reshape", [x, np.array([5, 5])])


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cast(dtype, to):
    x = some((5, 33), dtype)
    same(run_op("Cast", [x], dtype=to)[0], x.astype(to))
    if np.issubdtype(dtype, np.floating):
        fractions = np.array([-2.75, -0.5, 0.0, 0.25, 1.5, 100.75], dtype)
        if to == np.uint8:
            fractions = np.abs(fractions)
        same(run_op("Cast", [fractions], dtype=to)[0], fractions.astype(to))


def test_cast_of_what_cannot_be_held_exactly():
    x = np.array([1 / 3, 1e-30, 3e38, np.inf, np.nan, 65520.0])
    with np.errstate(over="ignore"):
        for to in np.float32, np.float16:
            same(run_op("Cast", [x], dtype=to)[0], x.astype(to))
    wide = np.array([2**40 + 1, -(2**33), 300])
    same(run_op("Cast", [wide], dtype=np.float32)[0], wide.astype(np.float32))


def test_an_operation_that_there_is_not():
    with pytest.raises(rondo.Error, match='no operation "Nothing"'):
        _core.Graph().add("Nothing", [], {})
