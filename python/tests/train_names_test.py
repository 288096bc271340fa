"""Decays, moving averages, optimizers of several operations, ClusterSpec, device
functions, samplers: by what NumPy says, or by what is documented."""

import contextlib
import threading

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def fresh(new_graph):
    pass


def value(tensor, feeds=None):
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        return session.run(tensor, feeds)


DECAYS = {
    "exponential": (
        lambda s: rd.train.exponential_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 * 0.9 ** (s / 10),
    ),
    "exponential in stairs": (
        lambda s: rd.train.exponential_decay(0.5, s, 10, 0.9, staircase=True),
        lambda s: 0.5 * 0.9 ** (s // 10),
    ),
    "natural": (
        lambda s: rd.train.natural_exp_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 * np.exp(-0.9 * s / 10),
    ),
    "inverse time": (
        lambda s: rd.train.inverse_time_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 / (1 + 0.9 * s / 10),
    ),
    "polynomial": (
        lambda s: rd.train.polynomial_decay(0.5, s, 20, 0.1, power=2.0),
        lambda s: 0.4 * (1 - min(s, 20) / 20) ** 2 + 0.1,
    ),
    "cosine": (
        lambda s: rd.train.cosine_decay(0.5, s, 20),
        lambda s: 0.25 * (1 + np.cos(np.pi * min(s, 20) / 20)),
    ),
    "piecewise": (
        lambda s: rd.train.piecewise_constant(s, [10, 20], [0.5, 0.2, 0.1]),
        lambda s: 0.5 if s <= 10 else 0.2 if s <= 20 else 0.1,
    ),
}


@pytest.mark.parametrize("name", DECAYS)
def test_decay(name):
    made, want = DECAYS[name]
    step = rd.placeholder(rd.int32, [])
    rate = made(step)
    with rd.Session() as session:
        for s in (0, 7, 10, 11, 20, 35):
            assert np.isclose(session.run(rate, {step: s}), want(s), rtol=1e-5), s


def test_moving_averages():
    v = rd.Variable(1.0, name="v")
    ema = rd.train.ExponentialMovingAverage(0.9)
    change = v.assign(11.0)
    with rd.control_dependencies([change]):
        update = ema.apply([v])
    assert ema.average_name(v) == "v/ExponentialMovingAverage"
    assert set(ema.variables_to_restore()) == {"v/ExponentialMovingAverage"}
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        session.run(update)
        assert np.isclose(session.run(ema.average(v)), 0.9 * 1 + 0.1 * 11)


def test_moving_average_without_bias():
    x = rd.placeholder(rd.float32, [])
    ema = rd.train.ExponentialMovingAverage(0.9, zero_debias=True)
    update = ema.apply([x])
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for i, number in enumerate([2.0, 4.0, 8.0]):
            session.run(update, {x: number})
            weights = 0.9 ** np.arange(i, -1, -1)
            numbers = np.array([2.0, 4.0, 8.0])[: i + 1]
            want = (weights * numbers).sum() / weights.sum()
            assert np.isclose(session.run(ema.average(x)), want, rtol=1e-5)


def test_ftrl_without_regularisation_is_adagrad():
    ends = []
    for optimizer in (
        rd.train.FtrlOptimizer(0.3),
        rd.train.AdagradOptimizer(0.3, 0.1),
    ):
        rd.reset_default_graph()
        v = rd.Variable([0.0, 0.0])
        train = optimizer.minimize(rd.reduce_sum(rd.square(v - [1.0, -2.0])))
        with rd.Session() as session:
            session.run(rd.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            ends.append(session.run(v))
    assert np.allclose(*ends, rtol=1e-4)


def test_ftrl_drops_what_matters_little():
    v = rd.Variable([0.0, 0.0])
    loss = rd.reduce_sum(rd.square(v - [0.01, 2.0]))
    optimizer = rd.train.FtrlOptimizer(0.3, l1_regularization_strength=0.5)
    train = optimizer.minimize(loss)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for _ in range(20):
            session.run(train)
        small, large = session.run(v)
    assert small == 0 and large > 0.5


def test_adadelta():
    v = rd.Variable([1.0])
    train = rd.train.AdadeltaOptimizer(0.5, 0.9, 1e-6).minimize(rd.square(v))
    x = np.float64(1.0)
    squares = steps = 0.0
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for _ in range(4):
            session.run(train)
            grad = 2 * x
            squares = 0.9 * squares + 0.1 * grad**2
            step = np.sqrt(steps + 1e-6) / np.sqrt(squares + 1e-6) * grad
            steps = 0.9 * steps + 0.1 * step**2
            x -= 0.5 * step
        assert np.isclose(session.run(v)[0], x, rtol=1e-4)


def test_cluster_spec():
    cluster = rd.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "c:1", 0: "b:1"}})
    assert cluster.jobs == ["ps", "worker"] and cluster.num_tasks("worker") == 2
    assert cluster.as_dict() == {"ps": ["a:1"], "worker": ["b:1", "c:1"]}
    assert cluster.task_address("worker", 1) == "c:1"
    assert rd.train.ClusterSpec(cluster) == cluster
    assert rd.train.ClusterSpec('{"ps": ["a:1"]}').job_tasks("ps") == ["a:1"]
    sparse = rd.train.ClusterSpec({"worker": {2: "c:1"}})
    assert sparse.job_tasks("worker") == [None, None, "c:1"]
    with pytest.raises(rd.InvalidArgumentError, match='no job "chief"; there are ps'):
        cluster.num_tasks("chief")
    with pytest.raises(rd.InvalidArgumentError, match="has no task 5"):
        cluster.task_address("worker", 5)
    for wrong in ({"ps": "a:1"}, {"ps": [1]}, ["a:1"], "{"):
        with pytest.raises(rd.InvalidArgumentError, match="ClusterSpec"):
            rd.train.ClusterSpec(wrong)


CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}


def test_variables_go_round_the_servers():
    with rd.device(rd.train.replica_device_setter(cluster=CLUSTER)):
        a, b, c = (rd.Variable(1.0, name=n) for n in "abc")
        total = a + b + c
        train = rd.train.MomentumOptimizer(0.1, 0.9).minimize(total)
    assert [v.device[-7:] for v in (a, b, c)] == ["/task:0", "/task:1", "/task:0"]
    assert a.device == "/job:ps/task:0" and total.device == "/job:worker"
    # What changes a variable is where it is.
    assert a.initializer.device == a.device and b.initializer.device == b.device
    updates = [op for op in train.control_inputs if op.type == "ApplyMomentum"]
    assert [op.device for op in updates] == [v.device for v in (a, b, c)]
    gradients = [
        op
        for op in rd.get_default_graph().get_operations()
        if op.name.startswith("gradients/")
    ]
    assert gradients and all(op.device == "/job:worker" for op in gradients)


def test_what_uses_a_queue_is_where_it_was_made():
    """Else a session that may place softly would move all of it, and the workers of
    a cluster would each have their own."""
    setter = rd.train.replica_device_setter(cluster=CLUSTER)
    with rd.device("/job:ps/task:1"):
        queue = rd.FIFOQueue(2, [rd.float32], [()])
        sums = rd.ConditionalAccumulator(rd.float32, [])
    with rd.device(setter):
        made = [queue.enqueue(1.0), queue.dequeue().op, queue.close()]
        made += [sums.set_global_step(1), sums.take_grad(1).op]
    assert {op.device for op in made} == {"/job:ps/task:1"}


def test_variables_by_bytes():
    strategy = rd.train.GreedyLoadBalancingStrategy(2, rd.train.byte_size_load_fn)
    setter = rd.train.replica_device_setter(cluster=CLUSTER, ps_strategy=strategy)
    with rd.device(setter):
        made = [rd.Variable(np.zeros(n, np.float32)) for n in (100, 10, 10, 50, 60)]
    assert [v.device[-1] for v in made] == ["0", "1", "1", "1", "1"]


def test_no_servers_no_function():
    assert rd.train.replica_device_setter(0) is None
    assert rd.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None


def test_device_functions_merge_with_names():
    with rd.device("/job:worker/task:3"):
        with rd.device(lambda op: "/cpu:1" if op.type == "Const" else None):
            x = rd.constant(1)
            y = x + x
            with rd.device("/task:5"):
                z = rd.constant(2)
        with rd.device(None):
            free = rd.constant(3)
    assert x.device == "/job:worker/task:3/cpu:1"
    assert y.device == "/job:worker/task:3"
    assert z.device == "/job:worker/task:5/cpu:1"
    assert free.device == ""
    with pytest.raises(rd.InvalidArgumentError, match="device: 3"):
        with rd.device(3):
            pass


def test_input_by_queues():
    x, y = rd.train.slice_input_producer(
        [np.arange(6), np.arange(6) * 10.0], num_epochs=1, shuffle=False
    )
    batch = rd.train.batch({"x": x, "y": y}, 4, allow_smaller_final_batch=True)
    names = rd.train.string_input_producer(["one", "three"], 1, shuffle=False)
    text = names.dequeue()
    with rd.Session() as session:
        session.run(rd.local_variables_initializer())
        coord = rd.train.Coordinator()
        threads = rd.train.start_queue_runners(session, coord)
        first, second = session.run(batch), session.run(batch)
        assert first["x"].tolist() == [0, 1, 2, 3] and second["x"].tolist() == [4, 5]
        assert second["y"].tolist() == [40.0, 50.0]
        with pytest.raises(rd.OutOfRangeError):
            session.run(batch)
        assert [bytes(session.run(text)) for _ in range(2)] == [b"one", b"three"]
        coord.request_stop()
        coord.join(threads)
    unknown = rd.placeholder(rd.float32, [None])
    with pytest.raises(rd.InvalidArgumentError, match="must be known"):
        rd.train.batch([unknown], 2)


def test_count_up_to():
    v = rd.Variable(np.int64(0), trainable=False)
    count = v.count_up_to(2)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        assert [session.run(count), session.run(count)] == [0, 1]
        with pytest.raises(rd.OutOfRangeError, match="limit of 2"):
            session.run(count)
        assert session.run(v) == 2


def test_count_up_to_by_many_threads():
    """No two of them get the same number, and none one too many."""
    v = rd.Variable(np.int64(0), trainable=False)
    count, start = v.count_up_to(2), rd.variables_initializer([v])
    with rd.Session() as session:

        def work(got):
            together.wait(60)
            for _ in range(2):
                with contextlib.suppress(rd.OutOfRangeError):
                    got.append(int(session.run(count)))

        for _ in range(40):
            session.run(start)
            got, together = [], threading.Barrier(4)
            threads = [threading.Thread(target=work, args=(got,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert sorted(got) == [0, 1] and session.run(v) == 2


def test_samples_are_different_and_as_often_as_expected():
    labels = rd.constant(np.zeros((1, 1), np.int64))
    sampled, true_expected, expected = rd.nn.log_uniform_candidate_sampler(
        labels, 1, 5, True, 20, seed=1
    )
    counts = np.zeros(20)
    wanted = 0.0
    with rd.Session() as session:
        for _ in range(400):
            got, often, _ = session.run([sampled, true_expected, expected])
            assert len(set(got.tolist())) == 5
            counts[got] += 1
            wanted += often[0, 0]
    # Class 0 is the likeliest; its expected count is right on the average.
    assert counts.argmax() == 0
    assert abs(counts[0] - wanted) < 40
    with pytest.raises(rd.InvalidArgumentError, match="different classes"):
        rd.nn.log_uniform_candidate_sampler(labels, 1, 30, True, 20)


def test_sampled_softmax_of_all_classes_is_softmax():
    """With every class in the sample and its expected count 1, it is exact."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 4)).astype(np.float32)
    biases = rng.normal(size=6).astype(np.float32)
    inputs = rng.normal(size=(3, 4)).astype(np.float32)
    labels = np.array([[1], [4], [0]])
    every = (
        rd.constant(np.arange(6)),
        rd.constant(np.ones((3, 1), np.float32)),
        rd.constant(np.ones(6, np.float32)),
    )
    loss = rd.nn.sampled_softmax_loss(
        rd.constant(weights), rd.constant(biases), rd.constant(labels),
        rd.constant(inputs), 6, 6, sampled_values=every,
    )  # fmt: skip
    logits = inputs @ weights.T + biases
    want = np.log(np.exp(logits).sum(1)) - logits[np.arange(3), labels[:, 0]]
    assert np.allclose(value(loss), want, rtol=1e-4)


def test_nce_loss():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 4)).astype(np.float32)
    inputs = rng.normal(size=(2, 4)).astype(np.float32)
    labels = np.array([[1], [4]])
    sample = (
        rd.constant(np.array([2, 5])),
        rd.constant(np.full((2, 1), 0.5, np.float32)),
        rd.constant(np.full(2, 0.25, np.float32)),
    )
    loss = rd.nn.nce_loss(
        rd.constant(weights), rd.constant(np.zeros(6, np.float32)),
        rd.constant(labels), rd.constant(inputs), 2, 6, sampled_values=sample,
    )  # fmt: skip
    right = (inputs * weights[labels[:, 0]]).sum(1) - np.log(0.5)
    other = inputs @ weights[[2, 5]].T - np.log(0.25)
    want = np.log1p(np.exp(-right)) + np.log1p(np.exp(other)).sum(1)
    assert np.allclose(value(loss), want, rtol=1e-4)


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


def test_devices_within_a_setter_are_left_alone():
    setter = rd.train.replica_device_setter(cluster=CLUSTER, merge_devices=False)
    with rd.device(setter):
        with rd.device("/cpu:1"):
            within = rd.constant(1)
        assert rd.constant(1).device == "/job:worker"
    assert within.device == "/cpu:1"
    with pytest.raises(rd.InvalidArgumentError, match="ps_strategy is 3"):
        rd.train.replica_device_setter(cluster=CLUSTER, ps_strategy=3)


def test_what_cancels_a_producer_is_the_programs_own():
    stop = rd.no_op()
    rd.train.input_producer(np.arange(3), cancel_op=stop)
    rd.train.string_input_producer(["a"], cancel_op=stop)
    runners = rd.get_collection(rd.GraphKeys.QUEUE_RUNNERS)
    assert [r.cancel_op is stop for r in runners] == [True, False, True]
    with pytest.raises(rd.InvalidArgumentError, match="nothing to take batches from"):
        rd.train.batch([rd.constant(1)], 2, num_threads=0)
