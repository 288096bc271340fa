"""tf.estimator: settings, evaluations, weights, the beginning of training."""

import json

import numpy as np
import pytest
import rondo.tf1 as tf

import rondo as rd

X = np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
Y = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]], np.float32)


def inputs(num_epochs=None, **more):
    return tf.estimator.inputs.numpy_input_fn(
        {"x": X, **more}, Y, batch_size=4, num_epochs=num_epochs, shuffle=False
    )


def linear(folder, **options):
    column = tf.feature_column.numeric_column("x")
    return tf.estimator.LinearRegressor(
        [column], str(folder), label_dimension=2, **options
    )


def test_a_cluster_is_refused(monkeypatch):
    cluster = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster}))
    with pytest.raises(rd.InvalidArgumentError, match="TF_CONFIG names a cluster"):
        tf.estimator.RunConfig()
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1"]}}))
    tf.estimator.RunConfig()


def test_one_way_to_save_puts_the_other_aside():
    config = tf.estimator.RunConfig(save_checkpoints_secs=60)
    config = config.replace(save_checkpoints_steps=5)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (5, None)
    config = config.replace(save_checkpoints_secs=7)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (None, 7)
    assert tf.estimator.RunConfig().save_checkpoints_secs == 600


def test_evaluations_are_not_too_often_and_at_the_end(tmp_path, monkeypatch):
    steps = []
    config = tf.estimator.RunConfig(save_checkpoints_steps=1)
    estimator = linear(tmp_path, config=config)
    monkeypatch.setattr(
        estimator,
        "evaluate",
        lambda *args, **options: steps.append(
            int(estimator.latest_checkpoint().rpartition("-")[2])
        ),
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(inputs(), max_steps=5),
        tf.estimator.EvalSpec(inputs(1), throttle_secs=3600),
    )
    assert steps == [1, 5]


def test_weights_count_in_every_metric(tmp_path):
    estimator = linear(tmp_path / "a", weight_column="w")
    weights = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    estimator.train(inputs(w=weights), steps=1)
    got = estimator.evaluate(inputs(1, w=weights))
    # The mean over both numbers of the only example that counts.
    assert got["label/mean"] == pytest.approx(5.5)
    assert got["average_loss"] == pytest.approx(got["loss"] / 2)
    column = tf.feature_column.numeric_column("x")
    classifier = tf.estimator.LinearClassifier(
        [column], str(tmp_path / "b"), weight_column="w"
    )
    labels = np.array([1, 0, 0, 0])

    def classes(num_epochs=None):
        return tf.estimator.inputs.numpy_input_fn(
            {"x": X, "w": weights}, labels, 4, num_epochs, shuffle=False
        )

    classifier.train(classes(), steps=20)
    got = classifier.evaluate(classes(1))
    # All are said to be of class 1, which the one that counts is.
    assert got["precision"] == got["recall"] == 1


def test_training_begins_with_another_model(tmp_path):
    first = linear(tmp_path / "a")
    first.train(inputs(), steps=50)

    def model_fn(features, labels, mode):
        with tf.variable_scope("linear"):
            logits = tf.feature_column.linear_model(
                features, [tf.feature_column.numeric_column("x")], 2
            )
        loss = tf.losses.mean_squared_error(labels, logits)
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(0.0).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, logits, loss, train)

    folder = str(tmp_path / "b")
    second = tf.estimator.Estimator(
        model_fn, folder, warm_start_from=first.latest_checkpoint()
    )
    second.train(inputs(), steps=1)
    name = "linear/linear_model/x/weights"
    assert np.array_equal(
        second.get_variable_value(name), first.get_variable_value(name)
    )
    assert second.get_variable_value("global_step") == 1
    with pytest.raises(rd.InvalidArgumentError, match="the path of a checkpoint"):
        tf.estimator.Estimator(model_fn, folder, warm_start_from=3)


def test_no_steps_are_no_training(tmp_path):
    estimator = linear(tmp_path)
    for call in (
        lambda: estimator.train(inputs(), steps=0),
        lambda: estimator.train(inputs(), max_steps=0),
        lambda: estimator.evaluate(inputs(), steps=0),
    ):
        with pytest.raises(rd.InvalidArgumentError, match="expected 1 or more"):
            call()
