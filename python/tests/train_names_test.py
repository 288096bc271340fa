"""Decays, moving averages, optimizers of several operations: by what NumPy says."""

import contextlib
import threading

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


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
