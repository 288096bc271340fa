"""tf.layers and tf.contrib.layers: what their arguments mean, by NumPy."""

import numpy as np
import pytest
import rondo.tf1 as tf

import rondo as rd

X = np.random.default_rng(1).normal(size=(2, 5, 3)).astype(np.float32)
ONES = tf.ones_initializer()
layers = tf.contrib.layers


@pytest.fixture(autouse=True)
def fresh():
    tf.reset_default_graph()


def value(tensor):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


def names():
    return [v.op.name for v in tf.global_variables()]


def test_conv1d_of_channels_first():
    options = {"kernel_initializer": ONES, "name": "one"}
    last = tf.layers.conv1d(X, 4, 3, 1, "valid", "channels_last", 2, **options)
    first = tf.layers.conv1d(
        X.transpose(0, 2, 1), 4, 3, 1, "valid", "channels_first", 2,
        reuse=True, **options,
    )  # fmt: skip
    assert last.shape.as_list() == [2, 1, 4]
    got = value([last, first])
    np.testing.assert_allclose(got[0], got[1].transpose(0, 2, 1), rtol=1e-5)
    want = X[:, ::2].sum((1, 2))
    np.testing.assert_allclose(got[0][:, 0, 0], want, rtol=1e-4, atol=1e-5)
    tf.layers.conv1d(X, 1, 1)
    assert names()[-2:] == ["conv1d/kernel", "conv1d/bias"]


def test_pooling_of_channels_first():
    y = tf.layers.max_pooling1d(X.transpose(0, 2, 1), 2, 1, "valid", "channels_first")
    want = np.maximum(X[:, :-1], X[:, 1:]).transpose(0, 2, 1)
    np.testing.assert_array_equal(value(y), want)


def test_flatten_has_the_channels_last():
    y = tf.layers.flatten(X.transpose(0, 2, 1), data_format="channels_first")
    np.testing.assert_array_equal(value(y), X.reshape(2, -1))
    with pytest.raises(rd.InvalidArgumentError, match="data_format"):
        tf.layers.flatten(X, data_format="other")


def test_no_argument_is_lost():
    with pytest.raises(rd.InvalidArgumentError, match="by place it takes filters"):
        tf.layers.Conv2D(3, 1, 1, "same", "channels_first")
    with pytest.raises(rd.InvalidArgumentError, match="virtual_batch_size"):
        tf.layers.batch_normalization(tf.constant(X[0]), virtual_batch_size=2)
    for options in (
        {"zero_debias_moving_mean": True},
        {"param_regularizers": {"beta": layers.l2_regularizer(1.0)}},
    ):
        with pytest.raises(rd.InvalidArgumentError, match="not supported"):
            layers.batch_norm(tf.constant(X[0]), **options)


@pytest.mark.parametrize("begin", [1, 2])
def test_layer_norm_over_axes(begin):
    axes = tuple(range(begin, 3))
    y = layers.layer_norm(tf.constant(X), begin_norm_axis=begin, scale=False)
    want = (X - X.mean(axes, keepdims=True)) / X.std(axes, keepdims=True)
    np.testing.assert_allclose(value(y), want, rtol=1e-3, atol=1e-4)
    assert names() == ["LayerNorm/beta"]


def test_layer_norm_is_over_all_but_the_first_axis():
    got = value(layers.layer_norm(tf.constant(X)))
    np.testing.assert_allclose(got.mean((1, 2)), 0, atol=1e-5)
    assert abs(got.mean(2)).max() > 0.1


def test_batch_norm_begins_with_its_parameters():
    y = layers.batch_norm(
        tf.constant(X[0]), is_training=False,
        param_initializers={"beta": tf.constant_initializer(5.0)},
    )  # fmt: skip
    np.testing.assert_allclose(value(y), X[0] + 5, rtol=1e-2)


def test_collections_of_outputs_and_variables():
    images = tf.constant(np.ones((1, 4, 4, 2), np.float32))
    made = []
    every = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d, layers.dropout,
             layers.flatten, layers.fully_connected, layers.layer_norm]  # fmt: skip
    with layers.arg_scope(every, outputs_collections="outputs"):
        made.append(
            layers.conv2d(images, 3, 3, variables_collections={"weights": ["w"]})
        )
        made.append(layers.max_pool2d(made[-1], 2))
        made.append(layers.avg_pool2d(made[-1], 1))
        made.append(layers.dropout(made[-1]))
        made.append(layers.flatten(made[-1]))
        made.append(layers.fully_connected(made[-1], 2, variables_collections=["all"]))
        made.append(layers.layer_norm(made[-1]))
    assert tf.get_collection("outputs") == made
    assert [v.op.name for v in tf.get_collection("w")] == ["Conv/weights"]
    assert [v.op.name for v in tf.get_collection("all")] == [
        "fully_connected/weights", "fully_connected/biases",
    ]  # fmt: skip
    assert tf.model_variables() == tf.global_variables()


def test_optimize_loss():
    v = tf.Variable(1.0)
    step = tf.train.create_global_step()
    loss = tf.square(v)
    train = layers.optimize_loss(loss, step, 0.25, "SGD", increment_global_step=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([v, step]) == [0.5, 0]
    with pytest.raises(rd.InvalidArgumentError, match="expected one of"):
        layers.optimize_loss(loss, step, 0.25, "Sgd")
    with pytest.raises(rd.InvalidArgumentError, match="gradient_multipliers"):
        layers.optimize_loss(loss, step, 0.1, "SGD", gradient_multipliers={v: 2.0})
