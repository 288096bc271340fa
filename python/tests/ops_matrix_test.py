"""Operations on matrices against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo

FLOATS = [np.float64, np.float32, np.float16]
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]
TOLERANCE = {np.float64: 1e-12, np.float32: 2e-5, np.float16: 1e-2}


def numbers(rng, shape, dtype):
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)


def regular(rng, shape, dtype):
    return numbers(rng, shape, dtype) + 3 * np.eye(shape[-1], dtype=dtype)


def close(got, want, dtype):
    assert got.dtype == dtype
    assert got.shape == want.shape
    tolerance = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance
    )


def transposed(x, do):
    return np.swapaxes(x, -1, -2) if do else x


def wide(x):
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul(dtype, ta, tb):
    rng = np.random.default_rng(1)
    for m, n, k in [(1, 1, 1), (3, 4, 5), (65, 129, 70), (0, 3, 2), (3, 2, 0)]:
        a = numbers(rng, (k, m) if ta else (m, k), dtype)
        b = numbers(rng, (n, k) if tb else (k, n), dtype)
        (got,) = run_op("MatMul", [a, b], transpose_a=ta, transpose_b=tb)
        want = wide(transposed(a, ta)) @ wide(transposed(b, tb))
        if dtype == np.float32:
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        elif dtype == np.float16:
            np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2)
        else:
            close(got, want, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_batch_matmul(dtype, adj_x, adj_y):
    rng = np.random.default_rng(2)
    for bx, by in [
        ((), ()),
        ((3,), (3,)),
        ((2, 1), (3,)),
        ((), (2, 2)),
        ((2, 3), ()),
        ((0,), (1,)),
        ((1, 4), (5, 1)),
    ]:
        m, n, k = rng.integers(1, 9, 3)
        x = numbers(rng, bx + ((k, m) if adj_x else (m, k)), dtype)
        y = numbers(rng, by + ((n, k) if adj_y else (k, n)), dtype)
        (got,) = run_op("BatchMatMul", [x, y], adj_x=adj_x, adj_y=adj_y)
        close(
            got,
            np.matmul(wide(transposed(x, adj_x)), wide(transposed(y, adj_y))),
            dtype,
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(1, 1), (4, 4), (3, 5, 5), (2, 2, 17, 17), (0, 2, 2)]
)
def test_solvers(dtype, shape):
    rng = np.random.default_rng(3)
    x = regular(rng, shape, dtype)
    rhs = numbers(rng, shape[:-1] + (3,), dtype)
    wx = wide(x)
    for adjoint in [False, True]:
        (got,) = run_op("MatrixInverse", [x], adjoint=adjoint)
        close(got, transposed(np.linalg.inv(wx), adjoint), dtype)
        (got,) = run_op("MatrixSolve", [x, rhs], adjoint=adjoint)
        close(got, np.linalg.solve(transposed(wx, adjoint), rhs), dtype)
        for lower in [False, True]:
            half = np.tril(wx) if lower else np.triu(wx)
            (got,) = run_op(
                "MatrixTriangularSolve", [x, rhs], lower=lower, adjoint=adjoint
            )
            close(got, np.linalg.solve(transposed(half, adjoint), rhs), dtype)
    (got,) = run_op("MatrixDeterminant", [x])
    np.testing.assert_allclose(got, np.linalg.det(wx), rtol=1e-3)
    square = (wx @ transposed(wx, True)).astype(dtype)
    (got,) = run_op("Cholesky", [square])
    close(got, np.linalg.cholesky(wide(square)), dtype)


def test_rows_are_exchanged():
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    (got,) = run_op("MatrixInverse", [x])
    np.testing.assert_array_equal(got, [[0, 0.5], [1, 0]])
    (got,) = run_op("MatrixDeterminant", [x])
    assert got == -2


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + [np.bool_])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (2, 4, 3), (1, 2, 3, 3), (2, 0, 3)])
def test_diagonals(dtype, shape):
    rng = np.random.default_rng(4)
    x = numbers(rng, shape, np.int32).astype(dtype)
    diagonal = np.diagonal(x, axis1=-2, axis2=-1)
    (got,) = run_op("MatrixDiagPart", [x])
    np.testing.assert_array_equal(got, diagonal)
    (got,) = run_op("MatrixDiag", [x])
    want = np.zeros(shape + shape[-1:], dtype)
    for i in range(shape[-1]):
        want[..., i, i] = x[..., i]
    np.testing.assert_array_equal(got, want)
    other = numbers(rng, diagonal.shape, np.int32).astype(dtype)
    (got,) = run_op("MatrixSetDiag", [x, other])
    want = x.copy()
    for i in range(diagonal.shape[-1]):
        want[..., i, i] = other[..., i]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_band_part(dtype):
    rng = np.random.default_rng(5)
    x = numbers(rng, (2, 5, 4), dtype)
    for lower in [-1, 0, 2, 9]:
        for upper in [-1, 0, 1, 9]:
            (got,) = run_op(
                "MatrixBandPart", [x], num_lower=lower, num_upper=upper, fill=7.0
            )
            i, j = np.indices(x.shape[-2:])
            kept = ((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper))
            np.testing.assert_array_equal(got, np.where(kept, x, np.array(7, dtype)))


def test_errors():
    with pytest.raises(rondo.Error, match="cannot be multiplied"):
        run_op("MatMul", [np.zeros((2, 3)), np.zeros((2, 3))])
    with pytest.raises(rondo.Error, match="singular"):
        run_op("MatrixInverse", [np.zeros((2, 2))])
    with pytest.raises(rondo.Error, match="square"):
        run_op("MatrixDeterminant", [np.zeros((2, 3))])
