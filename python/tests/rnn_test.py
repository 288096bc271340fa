"""Recurrent networks against loops in NumPy, and their gradients."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo as rd

RNG = np.random.default_rng(1)
BATCH, STEPS, DEPTH, UNITS = 3, 5, 4, 6
X = RNG.normal(size=(BATCH, STEPS, DEPTH)).astype(np.float32)
LENGTHS = np.array([5, 2, 0])
cells = rd.nn.rnn_cell


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()
    rd.set_random_seed(1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(weights, x, state):
    kernel_x, kernel_h, bias = weights
    c, h = state
    i, g, f, o = np.split(x @ kernel_x + h @ kernel_h + bias, 4, 1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, (c, h)


def gru_step(weights, x, state):
    gates, gates_bias, candidate, candidate_bias = weights
    (h,) = state
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ gates + gates_bias), 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ candidate + candidate_bias)
    h = u * h + (1 - u) * c
    return h, (h,)


def run_numpy(step, weights, x, lengths, state):
    outputs = np.zeros((*x.shape[:2], UNITS), np.float32)
    for time in range(x.shape[1]):
        there = (time < lengths)[:, None]
        output, after = step(weights, x[:, time], state)
        outputs[:, time] = np.where(there, output, 0)
        state = tuple(np.where(there, a, b) for a, b in zip(after, state, strict=True))
    return outputs, state


CELLS = {
    "BasicLSTMCell": (lambda: cells.BasicLSTMCell(UNITS), lstm_step, 2),
    "LSTMCell": (lambda: cells.LSTMCell(UNITS), lstm_step, 2),
    "GRUCell": (lambda: cells.GRUCell(UNITS), gru_step, 1),
}


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("known", [True, False])
def test_dynamic_rnn(name, lengths, known):
    make, step, parts = CELLS[name]
    x = rd.placeholder(rd.float32, X.shape if known else [None, None, DEPTH])
    outputs, state = rd.nn.dynamic_rnn(make(), x, lengths, dtype=rd.float32)
    assert outputs.shape.as_list() == (
        [BATCH, STEPS, UNITS] if known else [None, None, UNITS]
    )
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        weights = session.run(list(rd.trainable_variables()))
        for steps in {STEPS} if known else {STEPS, 1, 0}:
            got, last = session.run([outputs, state], {x: X[:, :steps]})
            want, want_last = run_numpy(
                step,
                weights,
                X[:, :steps],
                np.full(BATCH, STEPS) if lengths is None else lengths,
                (np.zeros((BATCH, UNITS), np.float32),) * parts,
            )
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
            last = last if isinstance(last, tuple) else (last,)
            for a, b in zip(last, want_last, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_state_of_lstm_is_named():
    _, state = rd.nn.dynamic_rnn(cells.LSTMCell(UNITS), X, dtype=rd.float32)
    assert isinstance(state, cells.LSTMStateTuple)
    assert state.c.shape == state.h.shape == [BATCH, UNITS]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("name", CELLS)
def test_gradients_are_those_of_the_unrolled_network(name, lengths):
    cell = CELLS[name][0]()
    x = rd.placeholder(rd.float32, X.shape)
    weight = RNG.normal(size=(BATCH, STEPS, UNITS)).astype(np.float32)

    def grads(outputs, state):
        loss = rd.reduce_sum(outputs * weight)
        leaves = state if isinstance(state, tuple) else [state]
        for leaf in leaves:
            loss += rd.reduce_sum(rd.square(leaf))
        return rd.gradients(loss, [x, *rd.trainable_variables()])

    looped = grads(*rd.nn.dynamic_rnn(cell, x, lengths, dtype=rd.float32))
    outputs, state = rd.nn.static_rnn(
        cell, rd.unstack(x, axis=1), dtype=rd.float32, sequence_length=lengths
    )
    unrolled = grads(rd.stack(outputs, axis=1), state)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        got, want = session.run([looped, unrolled], {x: X})
    assert len(got) > 3
    for a, b in zip(got, want, strict=True):
        assert np.abs(b).max() > 1e-3
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_time_major_and_initial_state():
    cell = cells.GRUCell(UNITS)
    first = RNG.normal(size=(BATCH, UNITS)).astype(np.float32)
    one, last = rd.nn.dynamic_rnn(cell, X, initial_state=rd.constant(first))
    other, other_last = rd.nn.dynamic_rnn(
        cell,
        X.transpose(1, 0, 2).copy(),
        initial_state=rd.constant(first),
        time_major=True,
    )
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        one, last, other, other_last = session.run([one, last, other, other_last])
        weights = session.run(list(rd.trainable_variables()))
    np.testing.assert_array_equal(one, other.transpose(1, 0, 2))
    np.testing.assert_array_equal(last, other_last)
    want, _ = run_numpy(gru_step, weights, X, np.full(BATCH, STEPS), (first,))
    np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)


def test_projection():
    cell = cells.LSTMCell(UNITS, num_proj=2)
    outputs, state = rd.nn.dynamic_rnn(cell, X, dtype=rd.float32)
    assert outputs.shape == [BATCH, STEPS, 2]
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        got, last = session.run([outputs, state])
    np.testing.assert_array_equal(got[:, -1], last.h)
    assert last.c.shape == (BATCH, UNITS)


def test_layers_in_a_row():
    layers = [cells.BasicLSTMCell(UNITS), cells.GRUCell(UNITS)]
    outputs, state = rd.nn.dynamic_rnn(
        cells.MultiRNNCell(layers), X, LENGTHS, dtype=rd.float32
    )
    names = [v.op.name for v in rd.trainable_variables()]
    assert len(names) == 7
    assert names[0] == "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel_x"
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        weights = session.run(list(rd.trainable_variables()))
        got, last = session.run([outputs, state])
    zeros = np.zeros((BATCH, UNITS), np.float32)
    middle, _ = run_numpy(lstm_step, weights[:3], X, LENGTHS, (zeros, zeros))
    want, want_last = run_numpy(gru_step, weights[3:], middle, LENGTHS, (zeros,))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last[1], want_last[0], rtol=1e-4, atol=1e-5)


def test_dropout_differs_from_step_to_step():
    cell = cells.DropoutWrapper(cells.GRUCell(UNITS), output_keep_prob=0.5, seed=3)
    outputs, _ = rd.nn.dynamic_rnn(cell, X, dtype=rd.float32)
    grads = rd.gradients(rd.reduce_sum(outputs), rd.trainable_variables())
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        got, _ = session.run([outputs, grads])
    dropped = got == 0
    assert 0.2 < dropped.mean() < 0.8
    assert (dropped[:, 0] != dropped[:, 1]).any()


@pytest.mark.parametrize("shape", [(3,), (4, 2), (2, 3, 5), (3, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_rows(shape, dtype):
    x = (RNG.normal(size=shape) * 9).astype(dtype)
    row = (RNG.normal(size=shape[1:]) * 9).astype(dtype)
    for index in range(shape[0]):
        at = np.int64(index)
        taken, same = run_op("TakeRow", [x, at])
        np.testing.assert_array_equal(taken, x[index])
        np.testing.assert_array_equal(same, x)
        want = x.copy()
        want[index] = row
        np.testing.assert_array_equal(run_op("SetRow", [x, at, row])[0], want)
        want[index] = x[index] + row
        np.testing.assert_array_equal(run_op("AddRow", [x, at, row])[0], want)
        want[index] = 0
        np.testing.assert_array_equal(run_op("ClearRow", [x, np.int32(index)])[0], want)


def test_trains():
    x = rd.placeholder(rd.float32, [None, None, DEPTH])
    y = rd.placeholder(rd.float32, [None])
    cell = cells.LSTMCell(UNITS)
    _, state = rd.nn.dynamic_rnn(cell, x, dtype=rd.float32)
    guess = rd.layers.dense(state.h, 1)[:, 0]
    loss = rd.reduce_mean(rd.square(guess - y))
    train = rd.train.AdamOptimizer(0.05).minimize(loss)
    feeds = {x: X, y: X[:, 0, 0]}
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        losses = [session.run([loss, train], feeds)[0] for _ in range(40)]
    assert losses[-1] < 0.3 * losses[0]


def test_what_is_wrong_is_named():
    cell = cells.GRUCell(UNITS)
    with pytest.raises(rd.InvalidArgumentError, match=r"\[batch, steps, features\]"):
        rd.nn.dynamic_rnn(cell, X[0], dtype=rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="initial_state or dtype"):
        rd.nn.dynamic_rnn(cell, X)
    with pytest.raises(rd.InvalidArgumentError, match="sequence_length has shape"):
        rd.nn.dynamic_rnn(cell, X, [1, 2], dtype=rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="1 tensors.* 2"):
        rd.nn.dynamic_rnn(
            cells.LSTMCell(UNITS), X, initial_state=np.zeros((BATCH, UNITS))
        )
    with pytest.raises(rd.InvalidArgumentError, match="must be known"):
        rd.nn.dynamic_rnn(
            cells.GRUCell(UNITS),
            rd.placeholder(rd.float32, [1, 2, None]),
            dtype=rd.float32,
        )
    with pytest.raises(rd.InvalidArgumentError, match="no inputs"):
        rd.nn.static_rnn(cell, [], dtype=rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="twice"):
        cells.MultiRNNCell([cell, cell])
    with pytest.raises(rd.InvalidArgumentError, match="at least one"):
        cells.MultiRNNCell([])
