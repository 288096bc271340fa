"""rondo.tf1: what its functions mean, where TensorFlow's documentation says so."""

import unittest

import numpy as np
import pytest
import rondo.tf1 as tf
from rondo.tf1.text import padded_bytes

import rondo as rd

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


@pytest.fixture(autouse=True)
def fresh():
    tf.reset_default_graph()


def value(tensor, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feeds)


def test_numbers_lose_no_fraction():
    for make in (tf.constant, tf.convert_to_tensor):
        with pytest.raises(rd.InvalidArgumentError, match="has a fraction"):
            make([1.5], tf.int32)
        assert value(make(np.array([1.5]), tf.int32)).tolist() == [1]
        assert value(make([1, 2], tf.float32)).tolist() == [1, 2]
    with pytest.raises(rd.InvalidArgumentError, match=r"has shape \[2\], not \[3\]"):
        tf.constant([1, 2], shape=[3], verify_shape=True)


def test_cond_takes_a_name_and_strict():
    def one():
        return [tf.constant(1)]

    assert value(tf.cond(tf.constant(True), one, one, name="choice")) == 1
    strict = tf.cond(tf.constant(True), one, one, strict=True)
    assert value(strict) == [1]


def test_case_wants_a_condition_that_holds():
    a, b = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    pairs = [(a, lambda: tf.constant(1)), (b, lambda: tf.constant(2))]
    either, only = tf.case(pairs), tf.case(pairs, exclusive=True)
    assert value(either, {a: True, b: True}) == 1
    assert value(only, {a: False, b: True}) == 2
    with pytest.raises(rd.InvalidArgumentError, match="no condition holds"):
        value(either, {a: False, b: False})
    with pytest.raises(rd.InvalidArgumentError, match="more than one condition"):
        value(only, {a: True, b: True})


def test_what_is_colocated_is_so_without_a_device_too():
    with tf.device("/cpu:0"):
        x = tf.constant(1)
    free = tf.constant(1)
    assert tf.colocate_with is rd.colocate_with and tf.container is rd.container
    with tf.colocate_with(x.op):
        assert tf.constant(2).device == x.device
    with tf.colocate_with(free.op):
        tf.constant(2)


def test_only_the_second_cross_entropy_learns_labels():
    labels, logits = tf.constant(np.eye(3, dtype="f4")[:2]), tf.constant(X)
    old = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    new = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    assert np.allclose(*value([old, new]))
    assert tf.gradients(old, [labels]) == [None]
    assert tf.gradients(new, [labels]) != [None]
    with pytest.raises(rd.InvalidArgumentError, match="last axis"):
        tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=0)


def test_weights_of_losses_are_not_spread():
    loss = tf.losses.mean_squared_error(X[0], X[0] * 0, [[1.0], [0.0], [0.0]])
    assert value(loss) == 1.0
    for weights in (np.ones((3, 2)), np.ones(2)):
        with pytest.raises(rd.InvalidArgumentError, match="the weights have shape"):
            tf.losses.mean_squared_error(X[0], X[0], weights.astype("f4"))


def test_images_of_other_integers():
    image = tf.constant(np.array([0, 1, 255], np.uint8))
    wide = tf.image.convert_image_dtype(image, tf.int16)
    back = tf.image.convert_image_dtype(wide, tf.uint8)
    got = value([wide, back])
    assert got[0].tolist() == [0, 128, 255 * 128] and got[1].tolist() == [0, 1, 255]


def test_a_session_with_a_time_out():
    queue = tf.FIFOQueue(1, [tf.int32], [[]])
    take = queue.dequeue()
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(take)


REFUSED = {
    "batch_dims": lambda: tf.gather(X, [0], batch_dims=1),
    "preserve_aspect_ratio": lambda: tf.image.resize_images(
        X[:, :, None], [4, 4], preserve_aspect_ratio=True
    ),
    "hop_bytes": lambda: tf.FixedLengthRecordReader(3, hop_bytes=1),
    "max_norm": lambda: tf.feature_column.embedding_column(None, 3, max_norm=1.0),
    "combiner": lambda: tf.feature_column.embedding_column(None, 3, "max"),
    "cols_to_vars": lambda: tf.feature_column.input_layer({}, [], cols_to_vars={}),
    "sparse_combiner": lambda: tf.feature_column.linear_model(
        {}, [], sparse_combiner="mean"
    ),
    "warm_start_from": lambda: tf.estimator.DNNClassifier(
        [2], [], warm_start_from="there"
    ),
    "train_distribute": lambda: tf.estimator.RunConfig(train_distribute=object()),
    "one of save_checkpoints": lambda: tf.estimator.RunConfig(
        save_checkpoints_steps=1, save_checkpoints_secs=1
    ),
    r"no \['bogus'\]": lambda: tf.estimator.RunConfig().replace(bogus=1),
    "layers=1 is no list": lambda: tf.contrib.training.HParams(layers=[1]).parse(
        "layers=1"
    ),
    "flag=maybe is no bool": lambda: tf.contrib.training.HParams(flag=True).parse(
        "flag=maybe"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name):
    with pytest.raises(rd.InvalidArgumentError, match=name):
        REFUSED[name]()


def test_bounds_of_flags():
    flags = tf.app.flags
    flags.DEFINE_integer("steps_within", 3, "steps", lower_bound=1)
    flags.DEFINE_float("rate_within", 0.1, "rate", upper_bound=1.0)
    assert flags.FLAGS(["prog", "--steps_within=1", "--rate_within=1"]) == ["prog"]
    for wrong, says in (("--steps_within=0", "1 or more"), ("--rate_within=2", "less")):
        with pytest.raises(rd.InvalidArgumentError, match=says):
            flags.FLAGS(["prog", wrong])


def test_a_reader_of_packed_records(tmp_path):
    path = str(tmp_path / "a.gz")
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        writer.write(b"hello")
    names = tf.train.string_input_producer([path])
    _, record = tf.TFRecordReader(options=options).read(names)
    with tf.train.MonitoredSession() as session:
        assert session.run(record) == b"hello"


def test_variables_begin_as_in_a_checkpoint(tmp_path):
    tf.get_variable("a/w", initializer=5.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    tf.reset_default_graph()
    w = tf.get_variable("b/w", initializer=0.0)
    tf.train.init_from_checkpoint(path, {"a/": "b/"})
    assert value(w) == 5.0
    tf.get_variable("b/other", initializer=0.0)
    with pytest.raises(rd.InvalidArgumentError, match='has no "a/other"'):
        tf.train.init_from_checkpoint(path, {"a/": "b/"})
    with pytest.raises(rd.InvalidArgumentError, match="no variable 'b/none'"):
        tf.train.init_from_checkpoint(path, {"a/w": "b/none"})


def test_columns_that_do_not_learn():
    column = tf.feature_column.categorical_column_with_identity("x", 3)
    vectors = tf.feature_column.embedding_column(column, 2)
    features = {"x": tf.placeholder(tf.int64, [None])}
    layer = tf.feature_column.input_layer(features, [vectors], trainable=False)
    tf.feature_column.linear_model(features, [column], trainable=False)
    assert tf.trainable_variables() == []
    value(layer, {features["x"]: [2]})
    with pytest.raises(rd.InvalidArgumentError, match="not from 0 to 2"):
        value(layer, {features["x"]: [3]})


class Inner(tf.test.TestCase):
    __test__ = False  # the test below runs it

    def runTest(self):
        self.folder = self.get_temp_dir()
        assert self.get_temp_dir() == self.folder
        with self.assertRaises(AssertionError):
            self.assertAllClose([1.0, 1.0], 1.0)
        with self.assertRaises(AssertionError):
            self.assertAllEqual([1, 1], 1)


def test_a_test_has_one_folder_until_it_ends():
    test = Inner()
    result = unittest.TestResult()
    test.run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    assert not tf.gfile.Exists(test.folder)
    assert tf.test.get_temp_dir() == tf.test.get_temp_dir()


def test_words_that_are_not_in_the_list_have_several_places():
    column = tf.feature_column.categorical_column_with_vocabulary_list(
        "x", ["yes", "no"], num_oov_buckets=2
    )
    words = ["no", *"abcdefgh"]
    features = {"x": tf.constant(padded_bytes(words))}
    got = value(column.ids(features))[:, 0].tolist()
    assert got[0] == 1 and set(got[1:]) == {2, 3}
