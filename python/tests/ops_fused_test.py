"""Operations that sessions put in the place of several, against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

ACTIVATIONS = {
    "": lambda x: x,
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def numbers(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul(activation, ta, tb):
    for m, n, k in [(1, 1, 1), (3, 4, 5), (65, 129, 70), (0, 3, 2)]:
        a, b = (
            numbers((k, m) if ta else (m, k), 1),
            numbers((n, k) if tb else (k, n), 2),
        )
        bias = numbers((n,), 3)
        (got,) = run_op(
            "FusedMatMul",
            [a, b, bias],
            transpose_a=ta,
            transpose_b=tb,
            activation=activation,
        )
        product = (a.T if ta else a).astype(np.float64) @ (b.T if tb else b)
        want = ACTIVATIONS[activation](product + bias)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_convolution(activation, data_format):
    x, filter, bias = numbers((2, 7, 6, 3), 1), numbers((3, 2, 3, 8), 2), numbers(8, 3)
    want = np.zeros((2, 5, 5, 8))
    for i in range(3):
        for j in range(2):
            want += x[:, i : i + 5, j : j + 5].astype(np.float64) @ filter[i, j]
    want = ACTIVATIONS[activation](want + bias)
    channels_first = data_format == "NCHW"
    (got,) = run_op(
        "FusedConv2D",
        [x.transpose(0, 3, 1, 2) if channels_first else x, filter, bias],
        padding="VALID",
        data_format=data_format,
        activation=activation,
    )
    got = got.transpose(0, 2, 3, 1) if channels_first else got
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shapes",
    [[(), (), ()], [(7,), (7,), (7,)], [(33, 65), (65,), ()], [(4, 1), (3,), (4, 3)]],
)
def test_elementwise(shapes):
    x, y, z = (np.asarray(numbers(shape, i)) for i, shape in enumerate(shapes))
    (got,) = run_op(
        "FusedElementwise", [x, y, z], program="Mul x0 x1; Relu t0; Add t1 x2"
    )
    want = np.maximum(x.astype(np.float64) * y, 0) + z
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
