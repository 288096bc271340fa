"""Training: the program that a user starts from, gradients, optimizers, layers."""

import numpy as np
import pytest
from graph_ops import value, value_list

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


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


def trained_bits(inter_op_threads, intra_op_threads=2):
    """The variables after 20 steps, of a model with random numbers in it."""
    rd.reset_default_graph()
    rd.set_random_seed(7)
    x = rd.random_normal([16, 8, 8, 3])
    words = rd.random_uniform([16, 4], 0, 30, rd.int32)
    seen = rd.layers.flatten(rd.layers.conv2d(x, 8, 3, activation=rd.nn.relu))
    table = rd.get_variable("table", [30, 16])
    read = rd.reduce_mean(rd.nn.embedding_lookup(table, words), 1)
    both = rd.layers.dense(rd.nn.dropout(seen, rate=0.3), 10) + rd.layers.dense(
        rd.nn.dropout(read, rate=0.3), 10
    )
    loss = rd.reduce_mean(rd.square(both - 1.0))
    train = rd.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    config = rd.ConfigProto(inter_op_threads, intra_op_threads)
    with rd.Session(config=config) as session:
        session.run(rd.global_variables_initializer())
        for _ in range(20):
            session.run(train)
        return [v.tobytes() for v in session.run(rd.global_variables())]


def test_the_same_seed_gives_the_same_bits():
    first = trained_bits(1)
    assert trained_bits(1) == first
    for inter_op_threads in 2, 4:
        assert trained_bits(inter_op_threads) == first


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


def test_gradients_take_a_weight_for_each_y():
    x = rd.constant([1.0, 2.0])
    ys = [x * 2, x * 3]
    with pytest.raises(rd.InvalidArgumentError, match="1 grad_ys for 2 ys"):
        rd.gradients(ys, x, [rd.ones([2])])
    assert value(rd.gradients(ys, x, [None, [1.0, 0.0]])[0]).tolist() == [5, 2]
