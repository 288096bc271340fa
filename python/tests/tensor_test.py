"""Tensors: operators, slices, shapes, names."""

import os

import numpy as np
import pytest
from graph_ops import value, value_list

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_operators():
    x = rd.constant([5.0, -3.0])
    n = rd.constant([7, -7])
    y = np.array([2.0, 4.0], np.float32)
    got = value_list(
        [
            x + 1,
            1 - x,
            x * y,
            y / x,
            x**2,
            -x,
            abs(x),
            x // 2,
            x % 2,
            2**x,
            x < y,
            y >= x,
        ]
    )
    a = np.array([5.0, -3.0], np.float32)
    want = [
        a + 1,
        1 - a,
        a * y,
        y / a,
        a**2,
        -a,
        abs(a),
        a // 2,
        a % 2,
        2**a,
        a < y,
        y >= a,
    ]
    for g, w in zip(got, want, strict=True):
        assert np.allclose(g, w)
        assert g.dtype == w.dtype
    whole = value_list([n // 2, n % 2, n / 2, n * 3])
    assert [w.tolist() for w in whole] == [[3, -4], [1, 1], [3.5, -3.5], [21, -21]]
    assert whole[2].dtype == np.float64
    m = rd.constant([[1.0, 2.0], [3.0, 4.0]])
    assert value(m @ m).tolist() == [[7, 10], [15, 22]]
    both = value_list([(x > 0) & (x > 1), (x > 0) | (x < 0), ~(x > 0)])
    assert [b.tolist() for b in both] == [[True, False], [True, True], [False, True]]


def test_slices_are_numpys():
    a = np.arange(60).reshape(3, 4, 5)
    x = rd.constant(a)
    i = rd.constant(1)
    cases = [
        (x[1], a[1]),
        (x[-1, 2], a[-1, 2]),
        (x[:, 1:3], a[:, 1:3]),
        (x[..., 0], a[..., 0]),
        (x[::2, ::-1], a[::2, ::-1]),
        (x[1:, None, ..., -2:], a[1:, None, ..., -2:]),
        (x[i], a[1]),
        (x[i:, :i], a[1:, :1]),
        (x[a[:, 0, 0] > 10], a[a[:, 0, 0] > 10]),
    ]
    for got, (_, want) in zip(value_list([c[0] for c in cases]), cases, strict=True):
        assert np.array_equal(got, want)
    assert x[:, 1].shape == [3, 5]
    assert [t.shape.as_list() for t in rd.constant(a[:, 0, 0])] == [[], [], []]


def test_what_a_tensor_is_not():
    x = rd.placeholder(rd.float32)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)
    with pytest.raises(TypeError, match="first extent"):
        list(x)
    with pytest.raises(rd.InvalidArgumentError, match="no value until"):
        np.asarray(x)
    assert x == x and x != rd.placeholder(rd.float32)
    assert len({x, rd.identity(x), x}) == 2


def test_shapes_and_names():
    x = rd.placeholder(rd.float32, [None, 3], name="x")
    assert (x.name, x.op.name, x.op.type) == ("x:0", "x", "Placeholder")
    assert x.shape.as_list() == [None, 3] and x.get_shape().ndims == 2
    x.set_shape([2, None])
    assert x.shape == [2, 3]
    with pytest.raises(rd.InvalidArgumentError):
        x.set_shape([5, 3])
    with rd.name_scope("outer") as scope:
        assert scope == "outer/"
        with rd.name_scope("inner"):
            assert rd.identity(x).name == "outer/inner/Identity:0"
        with rd.name_scope(None):
            assert rd.identity(x, "free").name == "free:0"
    with rd.name_scope("outer/"):
        assert rd.identity(x).name == "outer/Identity:0"
    with rd.name_scope("outer"):
        assert rd.identity(x).name == "outer_1/Identity:0"
    with rd.device("/cpu:0"):
        assert "cpu:0" in rd.identity(x).device.lower()


def test_errors_name_the_operation_and_the_line():
    a, b = rd.ones([2, 3]), rd.ones([4, 5])
    with pytest.raises(rd.InvalidArgumentError) as caught:
        rd.matmul(a, b, name="product")
    line = f"{os.path.basename(__file__)}:{caught.tb.tb_lineno}"
    text = str(caught.value)
    assert '"product"' in text and line in text
    assert "[2, 3]" in text and "[4, 5]" in text
    with pytest.raises(rd.InvalidArgumentError, match="differ in type|expected"):
        rd.add(a, rd.constant(1))
    with pytest.raises(
        rd.InvalidArgumentError, match="float32.*does not fit|does not fit"
    ):
        rd.constant([1, 2]) + 1.5
    with pytest.raises(rd.InvalidArgumentError, match="another graph"):
        with rd.Graph().as_default():
            other = rd.constant(1.0)
        rd.add(a, other)


def test_zeros_and_ones_are_tensors_and_full_is_an_array():
    with rd.Session():
        for make, value in ((rd.zeros, 0), (rd.ones, 1)):
            for dtype in ("float32", rd.float32, np.float32):
                tensor = make([2, 3], dtype)
                assert tensor.get_shape().as_list() == [2, 3]
                assert tensor.eval().tolist() == [[value] * 3] * 2
            assert make(rd.shape(rd.ones([2])), name="z").eval().tolist() == [value] * 2
    array = rd.full((2, 2), 3, "int64")
    assert isinstance(array, np.ndarray) and array.dtype == np.int64
