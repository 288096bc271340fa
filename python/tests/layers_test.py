"""Layers: normalization, transposed convolutions, names; sequences reversed."""

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def value(tensor, feeds=None):
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        return session.run(tensor, feeds)


def test_reverse_sequence():
    x = np.arange(24).reshape(2, 4, 3).astype(np.float32)
    lengths = np.array([2, 4])
    want = x.copy()
    for i, n in enumerate(lengths):
        want[i, :n] = x[i, :n][::-1]
    assert np.array_equal(value(rd.nn.reverse_sequence(x, lengths, 1, 0)), want)
    turned = rd.nn.reverse_sequence(x.transpose(1, 0, 2), lengths, 0, 1)
    assert np.array_equal(value(turned).transpose(1, 0, 2), want)


def test_batch_normalization_by_a_fed_flag():
    x = rd.placeholder(rd.float32, [None, 3])
    training = rd.placeholder(rd.bool, [])
    y = rd.layers.batch_normalization(x, momentum=0.9, training=training)
    updates = rd.get_collection(rd.GraphKeys.UPDATE_OPS)
    mean = next(v for v in rd.global_variables() if "moving_mean" in v.name)
    data = np.random.default_rng(0).normal(3.0, 2.0, (50, 3)).astype(np.float32)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        got, *_ = session.run([y, *updates], {x: data, training: True})
        assert np.allclose(got.mean(0), 0, atol=1e-4)
        after = session.run(mean)
        assert np.allclose(after, 0.1 * data.mean(0), rtol=1e-4)
        got, *_ = session.run([y, *updates], {x: data, training: False})
        assert abs(got.mean()) > 0.5
        assert np.array_equal(session.run(mean), after)


def test_conv2d_transpose_grows_images():
    x = np.ones((1, 4, 4, 2), np.float32)
    ones = rd.ones_initializer()
    for padding, size in (("same", 8), ("valid", 9)):
        y = rd.layers.conv2d_transpose(
            x, 3, 3, strides=2, padding=padding, kernel_initializer=ones
        )
        assert y.shape.as_list() == [1, size, size, 3]
        got = value(y)
        assert got.shape == (1, size, size, 3)
        # Each of 16 points adds its two channels at up to 9 places.
        assert got[0, 4, 4, 0] == 8.0 if padding == "valid" else got.max() == 8.0


def test_random_numbers_with_a_deviation_of_the_graph():
    stddev = rd.placeholder(rd.float32, [])
    x = rd.random_normal([2000], 3.0, stddev, seed=4)
    with rd.Session() as session:
        got = session.run(x, {stddev: 0.5})
    assert abs(got.mean() - 3.0) < 0.1 and abs(got.std() - 0.5) < 0.05


def test_names_made_unique_begin_again_with_the_scope():
    def model(reuse):
        with rd.variable_scope("model", reuse=reuse):
            rd.layers.dense(rd.layers.dense(rd.zeros([1, 2], name="x"), 3), 4)

    model(False)
    model(True)
    names = [v.op.name for v in rd.trainable_variables()]
    assert names == [
        f"model/dense{n}/{v}" for n in ("", "_1") for v in ("kernel", "bias")
    ]
