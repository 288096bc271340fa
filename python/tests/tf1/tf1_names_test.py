"""The names of rondo.tf1: that they are there, what they give, and what those
that are not there say."""

import subprocess
import sys

import numpy as np
import pytest
import rondo.tf1 as tf

import rondo as rd

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


@pytest.fixture(autouse=True)
def fresh():
    tf.reset_default_graph()


def value(tensor, feeds=None):
    with tf.Session() as session:
        session.run(
            [tf.global_variables_initializer(), tf.local_variables_initializer()]
        )
        return session.run(tensor, feeds)


OPERATIONS = {
    "old reduction": (
        lambda: tf.reduce_sum(X, reduction_indices=[1], keep_dims=True),
        X.sum(1, keepdims=True),
    ),
    "argmax dimension": (lambda: tf.argmax(X, dimension=1), X.argmax(1)),
    "argmax positional": (lambda: tf.argmax(X, 1, "name"), X.argmax(1)),
    "expand_dims dim": (lambda: tf.expand_dims(X, dim=0), X[None]),
    "split positional": (lambda: tf.split(X, 3, 1)[1], X[:, 1:2]),
    "squeeze": (lambda: tf.squeeze(X[None], squeeze_dims=[0]), X),
    "zeros": (lambda: tf.zeros([2]), np.zeros(2)),
    "where with rows": (
        lambda: tf.where([True, False], X, -X),
        np.where([[True], [False]], X, -X),
    ),
    "eye": (lambda: tf.eye(2), np.eye(2)),
    "norm": (lambda: tf.norm(X, axis=1), np.linalg.norm(X, axis=1)),
    "tensordot": (lambda: tf.tensordot(X, X, [[1], [1]]), X @ X.T),
    "tensordot 1": (lambda: tf.tensordot(X, X.T.copy(), 1), X @ X.T),
    "trace": (lambda: tf.trace(X[:, :2]), np.trace(X[:, :2])),
    "linspace": (lambda: tf.linspace(1.0, 3.0, 5), np.linspace(1, 3, 5)),
    "count_nonzero": (lambda: tf.count_nonzero([0, 1, 2]), 2),
    "reciprocal": (lambda: tf.reciprocal(X), 1 / X),
    "is_finite": (lambda: tf.is_finite([1.0, np.inf]), [True, False]),
    "confusion": (
        lambda: tf.confusion_matrix([0, 1, 1], [0, 1, 0], 2),
        [[1, 0], [1, 1]],
    ),
    "segments": (
        lambda: tf.unsorted_segment_sum(X, [1, 1], 2),
        [np.zeros(3), X.sum(0)],
    ),
    "map_fn": (lambda: tf.map_fn(lambda r: r * 2, tf.constant(X)), X * 2),
    "scan": (lambda: tf.scan(lambda a, r: a + r, tf.constant(X)), X.cumsum(0)),
    "foldl": (lambda: tf.foldl(lambda a, r: a + r, tf.constant(X)), X.sum(0)),
    "case": (
        lambda: tf.case([(tf.constant(False), lambda: tf.constant(1))],
                        default=lambda: tf.constant(2)),
        2,
    ),
    "dynamic_partition": (lambda: tf.dynamic_partition(X, [1, 0], 2)[1], X[:1]),
    "sparse_to_dense": (
        lambda: tf.sparse_to_dense([[0], [2]], [3], [5, 6], default_value=-1),
        [5, -1, 6],
    ),
    "meshgrid": (lambda: tf.meshgrid([1, 2], [3, 4, 5])[1], [[3, 3], [4, 4], [5, 5]]),
    "softmax dim": (lambda: tf.nn.softmax(X, dim=0), np.exp(X) / np.exp(X).sum(0)),
    "l2_normalize dim": (
        lambda: tf.nn.l2_normalize(X, dim=1),
        X / np.linalg.norm(X, axis=1, keepdims=True),
    ),
    "moments": (lambda: tf.nn.moments(tf.constant(X), [0])[1], X.var(0)),
    "xw_plus_b": (lambda: tf.nn.xw_plus_b(X, X.T.copy(), [1.0, 2.0]), X @ X.T + [1, 2]),
    "selu": (
        lambda: tf.nn.selu(X),
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    ),
    "weighted entropy": (
        lambda: tf.nn.weighted_cross_entropy_with_logits(np.ones_like(X), X, 3.0),
        3.0 * np.log1p(np.exp(-X)),
    ),
    "conv1d": (
        lambda: tf.nn.conv1d(X[:, :, None], np.ones((2, 1, 1), np.float32), 1, "VALID"),
        (X[:, :-1] + X[:, 1:])[:, :, None],
    ),
    "flip": (
        lambda: tf.image.flip_left_right(X[:, :, None]),
        X[:, ::-1, None],
    ),
    "crop or pad": (
        lambda: tf.image.resize_image_with_crop_or_pad(X[:, :, None], 4, 1)[:, :, 0],
        [[0], [-2], [4], [0]],
    ),
    "nearest": (
        lambda: tf.image.resize_nearest_neighbor(X[:, :, None], [4, 3])[:, :, 0],
        X.repeat(2, 0),
    ),
    "standardised": (
        lambda: tf.image.per_image_standardization(X[:, :, None])[:, :, 0],
        (X - X.mean()) / X.std(),
    ),
    "decode_raw": (
        lambda: tf.decode_raw(tf.constant(b"\x01\x00\x02\x00"), tf.int16),
        [1, 2],
    ),
    "constant in a type": (lambda: tf.constant(3, tf.float32), np.float32(3)),
    "float is 32 bits": (lambda: tf.cast([1, 2], "float"), np.float32([1, 2])),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    made, want = OPERATIONS[name]
    got = value(made())
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_int32_as_in_tensorflow():
    x = tf.placeholder(tf.float32, [None, 2])
    for tensor in (tf.shape(x), tf.size(x), tf.rank(x), tf.range(3)):
        assert tensor.dtype == tf.int32


@pytest.mark.parametrize(
    "module, name, says",
    [
        (tf, "keras", "Rondo does not have tf.keras; use tf.layers"),
        (tf, "TensorArray", "use tf.stack"),
        (tf, "no_such_name", "Rondo does not have tf.no_such_name"),
        (tf.nn, "ctc_loss", "Rondo does not have tf.nn.ctc_loss; use a py_func"),
        (tf.train, "AdagradDAOptimizer", "use tf.train.AdagradOptimizer"),
        (tf.contrib, "learn", "use tf.estimator"),
        (tf.layers, "conv3d", "Rondo does not have tf.layers.conv3d"),
        (tf.estimator, "BoostedTreesClassifier", "tf.estimator.BoostedTrees"),
        (tf.math, "bessel_i0", "Rondo does not have tf.math.bessel_i0"),
    ],
)
def test_what_is_missing_says_so(module, name, says):
    with pytest.raises(AttributeError, match=says):
        getattr(module, name)
    assert not hasattr(module, name)


def test_missing_modules_say_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import tensorflow.keras\n")
    ran = subprocess.run(
        [sys.executable, "-m", "rondo.tf1", script],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "Rondo does not have tensorflow.keras; use tf.layers" in ran.stderr


def test_the_other_ways_to_import(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import tensorflow.compat.v1 as tf\n"
        "tf.disable_v2_behavior()\n"
        "import tensorflow.contrib.layers as layers\n"
        "from tensorflow.contrib.rnn import BasicLSTMCell\n"
        "from tensorflow.python.framework import ops\n"
        "from tensorflow.python.client import timeline, device_lib\n"
        "from tensorflow.python.platform import gfile\n"
        "from tensorflow.contrib.learn import ModeKeys\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "rondo.tf1", script],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "tensorflow.contrib.learn" in ran.stderr, ran.stderr
    assert "; use tf.estimator" in ran.stderr


def test_usage():
    ran = subprocess.run(
        [sys.executable, "-m", "rondo.tf1", "there_is_none.py"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1 and "there is no there_is_none.py" in ran.stderr


def test_flags(monkeypatch, capsys):
    flags = tf.app.flags
    flags.DEFINE_string("where", "here", "a place")
    flags.DEFINE_integer("how_many", 3, "a number")
    flags.DEFINE_float("rate", 0.1, "a rate")
    flags.DEFINE_boolean("fast", False, "whether")
    flags.DEFINE_bool("slow", True, "whether")
    flags.DEFINE_list("hosts", "a,b", "hosts")
    FLAGS = flags.FLAGS
    rest = FLAGS(["prog", "--where=there", "--how_many", "5", "-fast", "--noslow", "x"])
    assert rest == ["prog", "x"]
    assert (FLAGS.where, FLAGS.how_many, FLAGS.rate) == ("there", 5, 0.1)
    assert FLAGS.fast is True and FLAGS.slow is False and FLAGS.hosts == ["a", "b"]
    FLAGS.rate = 0.5
    assert FLAGS.flag_values_dict()["rate"] == 0.5
    with pytest.raises(rd.InvalidArgumentError, match="no flag --wher; there are"):
        FLAGS(["prog", "--wher=x"])
    with pytest.raises(rd.InvalidArgumentError, match="how_many=x: expected a whole"):
        FLAGS(["prog", "--how_many=x"])
    seen = []
    with pytest.raises(SystemExit) as end:
        tf.app.run(lambda argv: seen.append(argv) or 7, ["prog", "--rate=2", "more"])
    assert end.value.code == 7 and seen == [["prog", "more"]] and FLAGS.rate == 2
    with pytest.raises(SystemExit) as end:
        tf.app.run(lambda argv: None, ["prog", "--bogus"])
    assert end.value.code == 2 and "no flag --bogus" in capsys.readouterr().err


def test_examples_in_record_files(tmp_path):
    path = str(tmp_path / "a.tfrecords")
    feature = {
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 2**40])),
        "f": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -2.0])),
        "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"xyz"])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(example.SerializeToString())
    # The checksums are right: the core's reader checks them.
    (record,) = tf.python_io.tf_record_iterator(path)
    back = tf.train.Example.FromString(record)
    assert back.features.feature["n"].int64_list.value == [-1, 2**40]
    assert back.features.feature["f"].float_list.value == [0.5, -2.0]
    assert back.features.feature["b"].bytes_list.value == [b"xyz"]
    parsed = tf.parse_single_example(
        tf.constant(record),
        {
            "n": tf.FixedLenFeature([2], tf.int64),
            "f": tf.VarLenFeature(tf.float32),
            "b": tf.FixedLenFeature([], tf.string),
            "d": tf.FixedLenFeature([], tf.int64, default_value=9),
        },
    )
    got = value(parsed)
    assert got["n"].tolist() == [-1, 2**40] and got["f"].tolist() == [0.5, -2.0]
    assert got["b"] == b"xyz" and got["d"] == 9
    wrong = tf.parse_single_example(
        tf.constant(record), {"no": tf.FixedLenFeature([], tf.int64)}
    )
    with pytest.raises(rd.InvalidArgumentError, match='no feature "no"'):
        value(wrong)


def test_examples_as_tensorboards_protocol_buffers_have_them():
    proto = pytest.importorskip("tensorboard.compat.proto.summary_pb2")
    mine = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.5)])
    theirs = proto.Summary.FromString(mine.SerializeToString())
    assert [(v.tag, v.simple_value) for v in theirs.value] == [("a", 1.5)]
    back = tf.Summary.FromString(theirs.SerializeToString())
    assert (back.value[0].tag, back.value[0].simple_value) == ("a", 1.5)


def test_a_saved_model(tmp_path):
    folder = str(tmp_path / "export")
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.identity(tf.matmul(x, tf.Variable([[1.0], [10.0]])), name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, folder, {"in": x}, {"out": y})
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(
            session, [tf.saved_model.tag_constants.SERVING], folder
        )
        signature = meta.signature_def["serving_default"]
        got = session.run(signature.outputs["out"].name,
                          {signature.inputs["in"].name: [[1, 2]]})  # fmt: skip
    assert got.tolist() == [[21.0]]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], folder, import_scope="there")
        assert session.run("there/y:0", {"there/x:0": [[1, 2]]}).tolist() == [[21.0]]
    builder = tf.saved_model.builder.SavedModelBuilder
    with pytest.raises(rd.InvalidArgumentError, match="is not empty"):
        builder(folder)
    with pytest.raises(rd.InvalidArgumentError, match="main_op is not supported"):
        builder(folder + "2").add_meta_graph_and_variables(None, [], main_op=y.op)
    for clear in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.device("/cpu:0"):
                tf.constant(1, name="c")
            made = builder(f"{folder}-{clear}")
            made.add_meta_graph_and_variables(session, ["s"], clear_devices=clear)
            made.save()
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.saved_model.loader.load(session, ["s"], f"{folder}-{clear}")
            device = graph.get_operation_by_name("c").device
            assert device == ("" if clear else "/cpu:0")


def test_read_data_sets_says_where_the_files_are_from(tmp_path):
    from rondo.tf1.examples.tutorials.mnist import input_data

    with pytest.raises(rd.InvalidArgumentError, match="dataset-fashion-mnist"):
        input_data.read_data_sets(str(tmp_path))


def test_data_sets_go_on_from_epoch_to_epoch(mnist):
    from rondo.tf1.examples.tutorials.mnist import input_data

    data = input_data.read_data_sets(str(mnist), validation_size=600, one_hot=True)
    assert data.train.num_examples == 5000 and data.validation.num_examples == 600
    assert data.train.images.shape == (5000, 784) and data.train.images.max() <= 1
    assert data.test.labels.shape == (300, 10)
    seen = [data.test.next_batch(200, shuffle=False) for _ in range(2)]
    assert data.test.epochs_completed == 1
    assert np.array_equal(seen[1][0][100:], data.test.images[:100])


def test_layers_as_objects_share_their_variables():
    dense = tf.layers.Dense(3, activation=tf.nn.relu)
    first, second = dense(tf.constant(X)), dense(tf.constant(X))
    assert len(tf.trainable_variables()) == 2 == len(dense.trainable_variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b, kernel = session.run([first, second, dense.kernel])
    assert np.array_equal(a, b) and kernel.shape == (3, 3)
    with pytest.raises(rd.InvalidArgumentError, match="kernel_constraint"):
        tf.layers.dense(tf.constant(X), 2, kernel_constraint=lambda x: x)


def test_text_is_refused_where_there_is_none():
    with pytest.raises(rd.InvalidArgumentError, match="no texts"):
        tf.placeholder(tf.string)
    with pytest.raises(rd.InvalidArgumentError, match="list of texts"):
        tf.constant(["a", "b"], tf.string)


def test_config():
    config = tf.ConfigProto(
        allow_soft_placement=True,
        intra_op_parallelism_threads=1,
        gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.3),
    )
    config.gpu_options.allow_growth = True
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    with tf.Session(config=config) as session:
        assert session.run(tf.constant(1)) == 1


def test_gfile(tmp_path):
    folder, name = str(tmp_path / "a" / "b"), str(tmp_path / "a" / "b" / "c.txt")
    tf.gfile.MakeDirs(folder)
    with tf.gfile.GFile(name, "w") as file:
        file.write("one\ntwo\n")
    with tf.gfile.Open(name) as file:
        assert [line.strip() for line in file] == ["one", "two"]
    assert tf.gfile.Exists(name) and tf.gfile.ListDirectory(folder) == ["c.txt"]
    tf.gfile.DeleteRecursively(folder)
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.Open(name).read()


def test_estimators_say_what_is_wrong(tmp_path):
    spec = tf.estimator.EstimatorSpec
    with pytest.raises(rd.InvalidArgumentError, match='mode "train" needs train_op'):
        spec(tf.estimator.ModeKeys.TRAIN, loss=tf.constant(1.0))
    estimator = tf.estimator.Estimator(lambda features: None, str(tmp_path))
    inputs = tf.estimator.inputs.numpy_input_fn({"x": X}, None, shuffle=False)
    with pytest.raises(rd.InvalidArgumentError, match="expected an EstimatorSpec"):
        estimator.train(inputs, steps=1)
    linear = tf.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("y")], str(tmp_path)
    )
    with pytest.raises(rd.InvalidArgumentError, match='no feature "y"'):
        linear.train(inputs, steps=1)


class SelfTest(tf.test.TestCase):
    def test_values(self):
        with self.test_session():
            self.assertAllClose(tf.constant([1.0]).eval(), [1.0 + 1e-8])
            with self.assertRaises(AssertionError):
                self.assertAllEqual([1], [2])
