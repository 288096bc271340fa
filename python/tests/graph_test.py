"""Graphs from Python: building, running, gradients, training, bad input."""

import gc
import json
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


def value(x, feed=None):
    with rd.Session(graph=x.graph) as session:
        session.run(rd.global_variables_initializer())
        return session.run(x, feed)


# The program that a user starts from.


def test_the_program_of_the_document(capsys):
    tf = rd
    b = tf.Variable(tf.zeros([100]))
    W = tf.Variable(tf.random_uniform([784, 100], -1, 1))
    x = tf.placeholder(name="x")
    relu = tf.nn.relu(tf.matmul(W, x) + b)
    C = [tf.reduce_sum(relu), tf.shape(relu)]
    s = tf.Session()
    s.run(tf.global_variables_initializer())
    for step in range(0, 10):
        input = np.random.rand(100, 100)
        result = s.run(C, feed_dict={x: input})
        print(step, result)
        w = s.run(W)
        want = np.maximum(w @ input.astype(np.float32), 0).sum(dtype=np.float64)
        assert result[0] == pytest.approx(want, rel=1e-4)
        assert result[1].tolist() == [784, 100]
    assert len(capsys.readouterr().out.splitlines()) >= 10


def test_a_model_trains():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(256, 8)).astype(np.float32)
    classes = (points @ rng.normal(size=(8, 3))).argmax(1)
    rd.set_random_seed(3)
    x = rd.placeholder(rd.float32, [None, 8])
    y = rd.placeholder(rd.int64, [None])
    hidden = rd.layers.dense(x, 32, rd.nn.relu)
    logits = rd.layers.dense(hidden, 3)
    loss = rd.losses.sparse_softmax_cross_entropy(y, logits)
    right = rd.equal(rd.argmax(logits, 1), y)
    accuracy = rd.reduce_mean(rd.cast(right, rd.float32))
    step = rd.train.get_or_create_global_step()
    train = rd.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    feed = {x: points, y: classes}
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        before = session.run(loss, feed)
        for _ in range(150):
            session.run(train, feed)
        after, correct, steps = session.run((loss, accuracy, step), feed)
    assert after < before / 3
    assert correct > 0.9
    assert steps == 150


def test_the_same_seed_gives_the_same_bits():
    def trained():
        rd.reset_default_graph()
        rd.set_random_seed(7)
        x = rd.random_normal([16, 4])
        loss = rd.reduce_mean(rd.square(rd.layers.dense(x, 5)))
        train = rd.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
        with rd.Session() as session:
            session.run(rd.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            return [v.tobytes() for v in session.run(rd.global_variables())]

    assert trained() == trained()


# Fetches and feeds.


def test_fetches_of_any_nesting():
    a, b = rd.constant(1.0), rd.constant([2, 3])
    v = rd.Variable(5.0)
    with rd.Session() as s:
        s.run(v.initializer)
        got = s.run({"a": a, "rest": [b, (v, "Const:0", v.initializer)]})
        assert got["a"] == 1.0
        assert got["rest"][0].tolist() == [2, 3]
        assert got["rest"][1] == (5.0, 1.0, None)
        assert isinstance(s.run(a), np.float32)
        assert s.run([]) == []
        assert s.run(rd.zeros([2])).tolist() == [0, 0]


def test_feeds_are_converted_but_never_lose_anything():
    x = rd.placeholder(rd.float32, [None, 2], name="x")
    n = rd.placeholder(rd.int32)
    with rd.Session() as s:
        assert s.run(x, {x: [[1, 2]]}).dtype == np.float32
        assert s.run("x:0", {"x:0": np.ones((1, 2))}).tolist() == [[1, 1]]
        assert s.run(n, {n: np.int64(3)}) == 3
        for wrong in (1.5, 2**40, "text", None):
            with pytest.raises(rd.Error, match="Placeholder"):
                s.run(n, {n: wrong})
        with pytest.raises(rd.InvalidArgumentError, match=r"\[\?, 2\].*\[3\]"):
            s.run(x, {x: np.ones(3)})
        with pytest.raises(rd.InvalidArgumentError, match='"x".*must be fed'):
            s.run(x)
        with pytest.raises(rd.InvalidArgumentError, match="another graph"):
            with rd.Graph().as_default():
                s.run(rd.constant(1))
        assert s.run(n, {n: 4}) == 4  # usable afterwards


def test_a_fed_array_is_not_copied_and_not_changed():
    x = rd.placeholder(rd.float32)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    with rd.Session() as s:
        got = s.run(rd.identity(x), {x: given})
        got += 1
        assert given[0, 0] == 0
        strided = s.run(rd.identity(x), {x: given.T})
        assert np.array_equal(strided, given.T)
    kept = weakref.ref(given)
    del given, got, strided
    s.close()
    gc.collect()
    assert kept() is None


def test_a_fetched_array_outlives_the_session():
    with rd.Graph().as_default() as graph:
        v = rd.Variable(np.arange(1000))
        s = rd.Session()
        s.run(v.initializer)
        array = s.run(v)
        again = s.run(v.assign_add(np.ones(1000, np.int64)))
    del s, v, graph
    gc.collect()
    assert array.tolist() == list(range(1000))
    assert again.tolist() == list(range(1, 1001))


def test_a_graph_is_freed():
    graph = rd.Graph()
    with graph.as_default():
        x = rd.Variable(rd.ones([2]))
        rd.gradients(rd.reduce_sum(x * x), x)
        rd.Session().run(rd.global_variables_initializer())
    gone = weakref.ref(graph)
    del graph, x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "dtype", "float64 float16 bfloat16 int64 int8 uint8 bool".split()
)
def test_every_type_goes_in_and_comes_out(dtype):
    dtype = rd.as_dtype(dtype)
    given = np.array([0, 1, 1]).astype(dtype.as_numpy_dtype)
    x = rd.placeholder(dtype)
    with rd.Session() as s:
        got = s.run(x, {x: given})
    assert got.dtype == given.dtype == dtype
    assert np.array_equal(got, given)


# Tensors.


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


def value_list(tensors):
    with rd.Session() as s:
        return s.run(list(tensors))


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


def test_control_dependencies_order_a_run():
    v = rd.Variable(1.0)
    changed = v.assign_add(1.0)
    with rd.control_dependencies([changed]):
        after = v.read_value()
    with rd.Session() as s:
        s.run(v.initializer)
        assert s.run(after) == 2.0
        s.run(rd.group(v.assign(5.0), rd.no_op()))
        assert s.run(v) == 5.0


# Variables.


def test_variables_are_assigned_and_scattered():
    v = rd.Variable(np.zeros((3, 2), np.float32), name="v")
    with rd.Session() as s:
        with pytest.raises(rd.InvalidArgumentError, match='"v"'):
            s.run(v)
        assert not s.run(v.is_initialized())
        s.run(rd.variables_initializer([v]))
        s.run(v.scatter_add([0, 0], [[1.0, 2.0], [3.0, 4.0]]))
        s.run(rd.scatter_update(v, [2], [[7.0, 8.0]]))
        assert s.run(v).tolist() == [[4, 6], [0, 0], [7, 8]]
        assert s.run(rd.assign(v, rd.ones([3, 2]))).tolist() == [[1, 1]] * 3
        v.load(np.full((3, 2), 9.0), s)
        assert s.run(v)[0, 0] == 9
    with pytest.raises(rd.InvalidArgumentError, match=r"\[3, 2\].*\[4\]"):
        v.assign(np.ones(4))


def test_variables_are_shared_by_scope():
    def layer(x):
        with rd.variable_scope("layer", reuse=rd.AUTO_REUSE):
            return x * rd.get_variable("w", [2], initializer=rd.ones_initializer())

    x = rd.constant([1.0, 2.0])
    layer(layer(x))
    assert [v.op.name for v in rd.trainable_variables()] == ["layer/w"]
    with rd.variable_scope("layer"):
        with pytest.raises(rd.InvalidArgumentError, match='"layer/w" exists'):
            rd.get_variable("w", [2])
    with rd.variable_scope("layer", reuse=True):
        with pytest.raises(rd.InvalidArgumentError, match='no variable "layer/other"'):
            rd.get_variable("other", [2])
        with pytest.raises(rd.InvalidArgumentError, match=r"shape \[2\], not \[3\]"):
            rd.get_variable("w", [3])
    rd.layers.dense(rd.ones([1, 2]), 3)
    rd.layers.dense(rd.ones([1, 2]), 3, name="named")
    rd.layers.dense(rd.ones([1, 2]), 3)
    names = [v.op.name for v in rd.global_variables()]
    assert names[1:] == [
        f"{d}/{v}" for d in ("dense", "named", "dense_1") for v in ("kernel", "bias")
    ]


# Gradients and optimizers.


def test_gradients():
    x = rd.constant([1.0, 2.0])
    y = rd.constant(3.0)
    other = rd.constant(1.0)
    dx, dy, none = rd.gradients(x * x * y, [x, y, other])
    assert none is None
    assert [g.tolist() for g in value_list([dx, dy])] == [[6, 12], 5]
    (weighted,) = rd.gradients(x * 2.0, x, grad_ys=rd.constant([10.0, 1.0]))
    assert value(weighted).tolist() == [20, 2]


def test_sparse_gradients():
    table = rd.Variable(np.ones((4, 2), np.float32))
    loss = rd.reduce_sum(rd.nn.embedding_lookup(table, [1, 1, 3]))
    (g,) = rd.gradients(loss, table)
    assert isinstance(g, rd.IndexedSlices)
    dense = rd.convert_to_tensor(g)
    train = rd.train.GradientDescentOptimizer(0.5).minimize(loss)
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        assert s.run(dense)[:, 0].tolist() == [0, 2, 0, 1]
        assert s.run(g).indices.tolist() == [1, 1, 3]
        s.run(train)
        assert s.run(table)[:, 0].tolist() == [1, 0, 1, 0.5]


OPTIMIZERS = [
    lambda: rd.train.GradientDescentOptimizer(0.1),
    lambda: rd.train.MomentumOptimizer(0.1, 0.5),
    lambda: rd.train.MomentumOptimizer(0.1, 0.5, use_nesterov=True),
    lambda: rd.train.AdagradOptimizer(0.5),
    lambda: rd.train.RMSPropOptimizer(0.1),
    lambda: rd.train.RMSPropOptimizer(0.1, centered=True),
    lambda: rd.train.AdamOptimizer(0.1),
    lambda: rd.train.AdamWOptimizer(0.01, 0.1),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_find_a_minimum(optimizer):
    w = rd.Variable([3.0, -2.0])
    loss = rd.reduce_sum(rd.square(w - [1.0, 1.0]))
    train = optimizer().minimize(loss)
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        for _ in range(200):
            s.run(train)
        assert s.run(loss) < 0.05


def test_adam_is_the_formula():
    w = rd.Variable(np.array([1.0, -2.0]))
    rate = rd.placeholder(rd.float32, [])
    adam = rd.train.AdamOptimizer(rate, 0.8, 0.9, 1e-6)
    train = adam.minimize(rd.reduce_sum(w * w * w))
    a, m, v = np.array([1.0, -2.0]), 0.0, 0.0
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        for k in range(1, 5):
            s.run(train, {rate: 0.25})
            g = 3 * a * a
            m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
            a = a - 0.25 * np.sqrt(1 - 0.9**k) / (1 - 0.8**k) * m / (np.sqrt(v) + 1e-6)
            assert np.allclose(s.run(w), a, rtol=1e-5)
        assert np.allclose(s.run(adam.get_slot(w, "m")), m, rtol=1e-5)
    assert rd.trainable_variables() == [w]


def test_gradients_are_clipped():
    tensors = [rd.constant([3.0, 0.0]), rd.constant([[4.0]]), None]
    clipped, norm = rd.clip_by_global_norm(tensors, 1.0)
    assert clipped[2] is None
    a, b, n = value_list([clipped[0], clipped[1], norm])
    assert n == pytest.approx(5)
    assert np.allclose(a, [0.6, 0]) and np.allclose(b, [[0.8]])


# Control flow.


def test_cond_and_while_loop():
    p = rd.placeholder(rd.bool, [])
    x = rd.constant(3.0)
    y = rd.cond(p, lambda: x * 2.0, lambda: x + 100.0)
    (g,) = rd.gradients(y, x)
    i, total = rd.while_loop(
        lambda i, t: i < 5,
        lambda i, t: (i + 1, t + rd.cast(i, rd.float32) * x),
        (0, 0.0),
    )
    with rd.Session() as s:
        assert s.run([y, g], {p: True}) == [6, 2]
        assert s.run([y, g], {p: False}) == [103, 1]
        assert s.run([i, total]) == [5, 30]

    def broken():
        raise RuntimeError("of the branch")

    with pytest.raises(RuntimeError, match="of the branch"):
        rd.cond(p, broken, lambda: x)
    assert value(rd.constant(2) + 1) == 3  # no branch is left open


# Layers.


def test_layers_of_a_convolutional_network():
    rd.set_random_seed(1)
    x = rd.placeholder(rd.float32, [None, 12, 12, 1])
    y = rd.layers.conv2d(x, 4, 3, padding="same", activation=rd.nn.relu)
    y = rd.layers.batch_normalization(y, training=True)
    y = rd.layers.max_pooling2d(y, 2, 2)
    y = rd.layers.flatten(y)
    assert y.shape == [None, 144]
    y = rd.layers.dropout(y, 0.5, training=True)
    y = rd.layers.dense(y, 3)
    loss = rd.losses.softmax_cross_entropy(rd.one_hot([0, 1], 3), y)
    updates = rd.get_collection(rd.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    with rd.control_dependencies(updates):
        train = rd.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    images = np.random.default_rng(0).random((2, 12, 12, 1))
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        first = s.run(loss, {x: images})
        for _ in range(30):
            s.run(train, {x: images})
        assert s.run(loss, {x: images}) < first
        mean = rd.get_default_graph().get_tensor_by_name(
            "batch_normalization/moving_mean:0"
        )
        assert np.any(s.run(mean) != 0)


def test_losses_are_weighted_and_collected():
    labels, predictions = rd.constant([1.0, 2.0, 3.0]), rd.constant([2.0, 2.0, 5.0])
    plain = rd.losses.mean_squared_error(labels, predictions)
    weighted = rd.losses.mean_squared_error(labels, predictions, [1.0, 0.0, 1.0])
    total = rd.losses.get_total_loss()
    got = value_list([plain, weighted, total])
    assert np.allclose(got, [5 / 3, 2.5, 5 / 3 + 2.5])


# What bad input gets.


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


def test_errors_of_a_run_name_the_line_too():
    x = rd.placeholder(rd.int32)
    bad = rd.constant(1) // x
    with rd.Session() as s:
        with pytest.raises(
            rd.InvalidArgumentError, match=r"FloorDiv.*graph_test\.py:\d+"
        ):
            s.run(bad, {x: 0})
        assert s.run(bad, {x: 1}) == 1
        nan = rd.check_numerics(rd.log(rd.constant(-1.0)), "here")
        with pytest.raises(rd.InvalidArgumentError, match="CheckNumerics"):
            s.run(nan)
        with pytest.raises(rd.InvalidArgumentError, match="fetch is None"):
            s.run(None)
        with pytest.raises(rd.InvalidArgumentError, match="no operation"):
            s.run("nothing")
    with pytest.raises(rd.InvalidArgumentError, match="closed"):
        s.run(x)


def endless():
    return rd.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [rd.constant(0)])


def test_a_time_out_ends_a_run():
    loop = endless()
    with rd.Session() as s:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            s.run(loop, timeout=0.2)
        options = rd.RunOptions(timeout_in_ms=100)
        with pytest.raises(rd.TimeoutError):
            s.run(loop, options=options)
        assert time.monotonic() - start < 20
        assert s.run(rd.constant(1)) == 1


def test_an_interrupt_ends_a_run():
    loop = endless()
    with rd.Session() as s:
        for _ in range(2):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                s.run(loop, timeout=30)
            timer.join()
        assert s.run(rd.constant(1)) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_programs_own_does_not_end_a_run():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        loop = endless()
        with rd.Session() as s:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(rd.TimeoutError):
                s.run(loop, timeout=0.5)
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_a_run_is_traced(tmp_path):
    x = rd.constant(np.ones((50, 50), np.float32))
    v = rd.Variable(x)
    y = rd.matmul(v, v, name="product")
    metadata = rd.RunMetadata()
    with rd.Session() as s:
        s.run(v.initializer)
        s.run(y, trace=tmp_path / "trace.json")
        full = rd.RunOptions(trace_level=rd.RunOptions.FULL_TRACE)
        s.run(y, options=full, run_metadata=metadata)
    for text in ((tmp_path / "trace.json").read_text(), metadata.trace):
        names = [e["name"] for e in json.loads(text)["traceEvents"]]
        assert any("product" in n for n in names)


def test_threads_run_at_once():
    x = rd.placeholder(rd.float32, [None])
    y = rd.reduce_sum(x * x)
    config = rd.ConfigProto(inter_op_parallelism_threads=2)
    wrong = []
    with rd.Session(config=config) as s:

        def work(n):
            for _ in range(50):
                if s.run(y, {x: np.full(n, 2.0)}) != 4.0 * n:
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in (1, 10, 100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert not wrong


def test_an_interactive_session_is_the_default():
    s = rd.InteractiveSession()
    assert rd.constant(3).eval() == 3
    v = rd.Variable(2)
    v.initializer.run()
    assert v.eval() == 2
    s.close()
    with pytest.raises(rd.InvalidArgumentError, match="no default session"):
        rd.constant(3).eval()


def test_the_communicators_arrays_are_as_before():
    array = rd.zeros(4)
    assert isinstance(array, np.ndarray) and array.dtype == np.float32
    assert isinstance(rd.full((2, 2), 3, "int64"), np.ndarray)
    assert isinstance(rd.zeros([2], rd.float32), rd.Tensor)
    assert isinstance(rd.zeros(rd.shape(rd.ones([2])), name="z"), rd.Tensor)


def test_every_name_is_there_and_documented():
    for name in rd.__all__:
        thing = getattr(rd, name)
        if callable(thing) and not isinstance(thing, type):
            assert thing.__doc__ or name in ("add_to_collection",), name
    for module in (rd.nn, rd.layers, rd.losses, rd.train, rd.initializers):
        for name in module.__all__:
            assert hasattr(module, name), name
