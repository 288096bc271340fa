"""Rows read and written by loops, against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4), (3, 0)])
def test_rows(dtype, shape):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 20, shape).astype(dtype)
    row = np.asarray(rng.integers(0, 20, shape[1:])).astype(dtype)
    for index in 0, shape[0] - 1:
        at = np.int64(index)
        taken, same = run_op("TakeRow", [x, at])
        np.testing.assert_array_equal(taken, x[index])
        np.testing.assert_array_equal(same, x)
        put, added, cleared = x.copy(), x.copy(), x.copy()
        put[index] = row
        added[index] += row
        cleared[index] = 0
        np.testing.assert_array_equal(run_op("SetRow", [x, at, row])[0], put)
        np.testing.assert_array_equal(run_op("AddRow", [x, at, row])[0], added)
        np.testing.assert_array_equal(run_op("ClearRow", [x, at])[0], cleared)
