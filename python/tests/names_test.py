"""Every function of the package, by what NumPy says it should give."""

import math

import numpy as np
import pytest

import rondo as rd

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4)).astype(np.float32)
Y = RNG.normal(size=(3, 4)).astype(np.float32)
P = np.abs(X) + 0.1
N = np.array([[7, -7, 3], [-3, 2, 5]], np.int32)
B = X > 0
S = (np.eye(3) * 4 + RNG.normal(size=(3, 3)) * 0.1).astype(np.float64)


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


NAN = np.array([1, np.nan, 0, np.nan], np.float32)
ERF = np.vectorize(math.erf)

ELEMENTWISE = {
    "add": (lambda: rd.add(X, Y), X + Y),
    "subtract": (lambda: rd.subtract(X, Y), X - Y),
    "multiply": (lambda: rd.multiply(X, 2.0), X * 2),
    "div": (lambda: rd.div(N, 2), np.trunc(N / 2).astype(np.int32)),
    "divide": (lambda: rd.divide(X, Y), X / Y),
    "floordiv": (lambda: rd.floordiv(N, 2), N // 2),
    "mod": (lambda: rd.mod(N, 3), N % 3),
    "pow": (lambda: rd.pow(P, 2.0), P**2),
    "maximum": (lambda: rd.maximum(X, 0.0), np.maximum(X, 0)),
    "minimum": (lambda: rd.minimum(X, Y), np.minimum(X, Y)),
    "squared_difference": (lambda: rd.squared_difference(X, Y), (X - Y) ** 2),
    "add_n": (lambda: rd.add_n([X, Y, X]), X + Y + X),
    "negative": (lambda: rd.negative(N), -N),
    "abs": (lambda: rd.abs(N), abs(N)),
    "sign": (lambda: rd.sign(X), np.sign(X)),
    "exp": (lambda: rd.exp(X), np.exp(X)),
    "log": (lambda: rd.log(P), np.log(P)),
    "log1p": (lambda: rd.log1p(P), np.log1p(P)),
    "sqrt": (lambda: rd.sqrt(P), np.sqrt(P)),
    "sqrt of an int": (lambda: rd.sqrt(4), np.float32(2)),
    "rsqrt": (lambda: rd.rsqrt(P), 1 / np.sqrt(P)),
    "square": (lambda: rd.square(X), X * X),
    "sin": (lambda: rd.sin(X), np.sin(X)),
    "cos": (lambda: rd.cos(X), np.cos(X)),
    "tanh": (lambda: rd.tanh(X), np.tanh(X)),
    "sigmoid": (lambda: rd.sigmoid(X), 1 / (1 + np.exp(-X))),
    "floor": (lambda: rd.floor(X), np.floor(X)),
    "ceil": (lambda: rd.ceil(X), np.ceil(X)),
    "round": (lambda: rd.round(X), np.round(X)),
    "is_nan": (lambda: rd.is_nan(X * NAN), np.isnan(X * NAN)),
    "check_numerics": (lambda: rd.check_numerics(X, "x"), X),
    "clip_by_value": (lambda: rd.clip_by_value(X, -0.5, 0.5), np.clip(X, -0.5, 0.5)),
    "greater": (lambda: rd.greater(X, Y), X > Y),
    "greater_equal": (lambda: rd.greater_equal(X, Y), X >= Y),
    "less": (lambda: rd.less(X, Y), X < Y),
    "less_equal": (lambda: rd.less_equal(N, 3), N <= 3),
    "equal": (lambda: rd.equal(N, 3), N == 3),
    "not_equal": (lambda: rd.not_equal(N, 3), N != 3),
    "logical_and": (lambda: rd.logical_and(B, True), B),
    "logical_or": (lambda: rd.logical_or(B, ~B), B | ~B),
    "logical_not": (lambda: rd.logical_not(B), ~B),
    "cast": (lambda: rd.cast(X, rd.int32), X.astype(np.int32)),
    "clip_by_norm": (
        lambda: rd.clip_by_norm(X, 1.0),
        X / max(1, np.linalg.norm(X)),
    ),
}
REDUCTIONS = {
    "reduce_sum": (lambda: rd.reduce_sum(X), X.sum()),
    "reduce_mean": (lambda: rd.reduce_mean(X, 1), X.mean(1)),
    "reduce_prod": (lambda: rd.reduce_prod(X, [0]), X.prod(0)),
    "reduce_max": (
        lambda: rd.reduce_max(X, -1, keepdims=True),
        X.max(-1, keepdims=True),
    ),
    "reduce_min": (lambda: rd.reduce_min(X, [0, 1]), X.min()),
    "reduce_all": (lambda: rd.reduce_all(B, 0), B.all(0)),
    "reduce_any": (lambda: rd.reduce_any(B, 0), B.any(0)),
    "reduce_logsumexp": (
        lambda: rd.reduce_logsumexp(X, 1),
        np.log(np.exp(X).sum(1)),
    ),
    "argmax": (lambda: rd.argmax(X, 1), X.argmax(1)),
    "argmin": (lambda: rd.argmin(X, 0, "int32"), X.argmin(0).astype(np.int32)),
    "cumsum": (
        lambda: rd.cumsum(X, 1, reverse=True),
        X[:, ::-1].cumsum(1)[:, ::-1],
    ),
    "global_norm": (lambda: rd.global_norm([X, Y]), np.sqrt((X**2 + Y**2).sum())),
}
ARRAYS = {
    "constant": (
        lambda: rd.constant(3, rd.int8, [2, 2]),
        np.full((2, 2), 3, np.int8),
    ),
    "fill": (lambda: rd.fill([2, 3], 7.0), np.full((2, 3), 7, np.float32)),
    "zeros": (lambda: rd.zeros([2, 3], rd.int32), np.zeros((2, 3), np.int32)),
    "ones": (lambda: rd.ones([2], rd.bool), np.ones(2, bool)),
    "zeros_like": (lambda: rd.zeros_like(N), N * 0),
    "ones_like": (lambda: rd.ones_like(N, rd.float32), N * 0 + np.float32(1)),
    "shape": (lambda: rd.shape(X), np.array([3, 4])),
    "rank": (lambda: rd.rank(X), np.int64(2)),
    "size": (lambda: rd.size(X, out_type="int32"), np.int32(12)),
    "reshape": (lambda: rd.reshape(X, [2, -1]), X.reshape(2, -1)),
    "expand_dims": (lambda: rd.expand_dims(X, 1), X[:, None]),
    "squeeze": (lambda: rd.squeeze(X[None, :, None]), X),
    "transpose": (lambda: rd.transpose(X), X.T),
    "transpose by axes": (
        lambda: rd.transpose(X[None], [1, 0, 2]),
        X[None].transpose(1, 0, 2),
    ),
    "concat": (lambda: rd.concat([X, Y], 1), np.concatenate([X, Y], 1)),
    "stack": (lambda: rd.stack([X, Y], 1), np.stack([X, Y], 1)),
    "unstack": (lambda: rd.unstack(X)[2], X[2]),
    "split": (lambda: rd.split(X, 2, 1)[1], X[:, 2:]),
    "split by sizes": (lambda: rd.split(X, [1, -1], 1)[1], X[:, 1:]),
    "tile": (lambda: rd.tile(X, [2, 3]), np.tile(X, [2, 3])),
    "pad": (
        lambda: rd.pad(X, [[1, 2], [0, 3]], constant_values=5),
        np.pad(X, [[1, 2], [0, 3]], constant_values=5),
    ),
    "pad by reflection": (
        lambda: rd.pad(X, [[1, 1], [2, 0]], "reflect"),
        np.pad(X, [[1, 1], [2, 0]], "reflect"),
    ),
    "reverse": (lambda: rd.reverse(X, [1]), X[:, ::-1]),
    "broadcast_to": (
        lambda: rd.broadcast_to(X[0], [5, 4]),
        np.broadcast_to(X[0], [5, 4]),
    ),
    "gather": (lambda: rd.gather(X, [2, 0]), X[[2, 0]]),
    "gather along an axis": (lambda: rd.gather(X, [[3], [0]], 1), X[:, [[3], [0]]]),
    "gather_nd": (lambda: rd.gather_nd(X, [[0, 1], [2, 3]]), X[[0, 2], [1, 3]]),
    "scatter_nd": (
        lambda: rd.scatter_nd([[1], [1]], [2.0, 3.0], [3]),
        np.array([0, 5, 0], np.float32),
    ),
    "one_hot": (lambda: rd.one_hot([1, 0], 3), np.eye(3, dtype=np.float32)[[1, 0]]),
    "one_hot of ints": (
        lambda: rd.one_hot([1], 2, 5, -1),
        np.array([[-1, 5]], np.int32),
    ),
    "where": (lambda: rd.where(B, X, Y), np.where(B, X, Y)),
    "where is it": (lambda: rd.where(B), np.argwhere(B)),
    "boolean_mask": (lambda: rd.boolean_mask(X, B), X[B]),
    "slice": (lambda: rd.slice(X, [1, 0], [2, -1]), X[1:3]),
    "strided_slice": (
        lambda: rd.strided_slice(X, [0, 1], [3, 4], [2, 2]),
        X[0:3:2, 1:4:2],
    ),
    "unique": (lambda: rd.unique([4, 4, 1])[0], np.array([4, 1], np.int32)),
    "unique_with_counts": (
        lambda: rd.unique_with_counts([4, 4, 1])[2],
        np.array([2, 1]),
    ),
    "invert_permutation": (
        lambda: rd.invert_permutation([2, 0, 1]),
        np.array([1, 2, 0], np.int32),
    ),
    "sequence_mask": (
        lambda: rd.sequence_mask([1, 3], 3),
        np.array([[True, False, False], [True] * 3]),
    ),
    "take_along_axis": (
        lambda: rd.take_along_axis(X, X.argsort(1), 1),
        np.sort(X, 1),
    ),
    "range": (lambda: rd.range(2, 8, 3), np.arange(2, 8, 3, np.int32)),
    "range of floats": (lambda: rd.range(3.0), np.arange(3, dtype=np.float32)),
}
MATRICES = {
    "matmul": (lambda: rd.matmul(X, Y, transpose_b=True), X @ Y.T),
    "matmul of batches": (lambda: rd.matmul(X[None], Y.T), X[None] @ Y.T),
    "einsum": (lambda: rd.einsum("ij,kj->ki", X, Y), Y @ X.T),
    "matrix_inverse": (lambda: rd.matrix_inverse(S), np.linalg.inv(S)),
    "matrix_determinant": (lambda: rd.matrix_determinant(S), np.linalg.det(S)),
    "matrix_solve": (lambda: rd.matrix_solve(S, S[:, :1]), np.eye(3)[:, :1]),
    "matrix_triangular_solve": (
        lambda: rd.matrix_triangular_solve(S, S[:, :2]),
        np.linalg.solve(np.tril(S), S[:, :2]),
    ),
    "cholesky": (lambda: rd.cholesky(S @ S.T), np.linalg.cholesky(S @ S.T)),
    "matrix_diag": (lambda: rd.matrix_diag([1.0, 2.0]), np.diag([1, 2]).astype("f4")),
    "matrix_diag_part": (lambda: rd.matrix_diag_part(S), np.diag(S)),
    "matrix_set_diag": (
        lambda: rd.matrix_set_diag(S, np.zeros(3)),
        S - np.diag(np.diag(S)),
    ),
    "matrix_band_part": (lambda: rd.matrix_band_part(S, -1, 0), np.tril(S)),
}
LOGITS, LABELS = X, softmax(Y)
NN = {
    "relu": (lambda: rd.nn.relu(X), np.maximum(X, 0)),
    "relu6": (lambda: rd.nn.relu6(X * 9), np.clip(X * 9, 0, 6)),
    "leaky_relu": (lambda: rd.nn.leaky_relu(X), np.where(X > 0, X, X * 0.2)),
    "elu": (lambda: rd.nn.elu(X), np.where(X > 0, X, np.expm1(X))),
    "gelu": (lambda: rd.nn.gelu(X), X * (1 + ERF(X / 2**0.5)) / 2),
    "softplus": (lambda: rd.nn.softplus(X), np.log1p(np.exp(X))),
    "swish": (lambda: rd.nn.swish(X), X / (1 + np.exp(-X))),
    "bias_add": (lambda: rd.nn.bias_add(X, Y[0]), X + Y[0]),
    "softmax": (lambda: rd.nn.softmax(X), softmax(X)),
    "log_softmax": (lambda: rd.nn.log_softmax(X), np.log(softmax(X))),
    "softmax_cross_entropy": (
        lambda: rd.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=LOGITS),
        -(LABELS * np.log(softmax(LOGITS))).sum(1),
    ),
    "sparse_softmax_cross_entropy": (
        lambda: rd.nn.sparse_softmax_cross_entropy_with_logits(
            labels=[0, 1, 3], logits=LOGITS
        ),
        -np.log(softmax(LOGITS))[[0, 1, 2], [0, 1, 3]],
    ),
    "sigmoid_cross_entropy": (
        lambda: rd.nn.sigmoid_cross_entropy_with_logits(labels=LABELS, logits=LOGITS),
        np.log1p(np.exp(LOGITS)) - LOGITS * LABELS,
    ),
    "no dropout": (lambda: rd.nn.dropout(X, rate=0), X),
    "l2_loss": (lambda: rd.nn.l2_loss(X), (X**2).sum() / 2),
    "l2_normalize": (
        lambda: rd.nn.l2_normalize(X, 1),
        X / np.linalg.norm(X, axis=1, keepdims=True),
    ),
    "moments": (lambda: rd.nn.moments(X, [0])[1], X.var(0)),
    "batch_normalization": (
        lambda: rd.nn.batch_normalization(X, X.mean(0), X.var(0), 1.0, 2.0, 1e-3),
        (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-3) * 2 + 1,
    ),
    "fused_batch_norm": (
        lambda: rd.nn.fused_batch_norm(X[:, None, None], np.ones(4, "f4"), np.zeros(4))[
            0
        ],
        ((X - X.mean(0)) / np.sqrt(X.var(0) + 1e-3))[:, None, None],
    ),
    "layer_norm": (
        lambda: rd.nn.layer_norm(X, np.ones(4, "f4"), np.zeros(4, "f4")),
        (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5),
    ),
    "lrn": (
        lambda: rd.nn.lrn(X[None, None], 0, 1.0, 1.0, 0.5),
        (X / np.sqrt(1 + X * X))[None, None],
    ),
    "conv2d": (
        lambda: rd.nn.conv2d(
            X[None, :, :, None], np.ones((2, 2, 1, 1), "f4"), 1, "VALID"
        ),
        (X[:-1, :-1] + X[1:, :-1] + X[:-1, 1:] + X[1:, 1:])[None, :, :, None],
    ),
    "conv2d with padding": (
        lambda: rd.nn.conv2d(
            X[None, :, :, None], np.ones((1, 1, 1, 1)), [1, 1, 1, 1], [[1, 0], [0, 2]]
        ),
        np.pad(X, [[1, 0], [0, 2]])[None, :, :, None],
    ),
    "depthwise_conv2d": (
        lambda: rd.nn.depthwise_conv2d(X[None, None], Y[:1, None, :, None][:, :, :, :]),
        (X * Y[0])[None, None],
    ),
    "conv2d_transpose": (
        lambda: rd.nn.conv2d_transpose(
            X[None, :, :, None], np.ones((1, 1, 1, 1), "f4"), [1, 3, 4, 1], 1
        ),
        X[None, :, :, None],
    ),
    "max_pool": (
        lambda: rd.nn.max_pool(
            X[None, :, :, None], [1, 1, 2, 1], [1, 1, 2, 1], "VALID"
        ),
        X.reshape(3, 2, 2).max(-1)[None, :, :, None],
    ),
    "avg_pool": (
        lambda: rd.nn.avg_pool(X[None, :, :, None], [1, 2], [1, 2], "SAME"),
        X.reshape(3, 2, 2).mean(-1)[None, :, :, None],
    ),
    "embedding_lookup": (lambda: rd.nn.embedding_lookup(X, [[2, 1]]), X[[[2, 1]]]),
    "top_k": (lambda: rd.nn.top_k(X, 2)[0], -np.sort(-X, 1)[:, :2]),
    "in_top_k": (
        lambda: rd.nn.in_top_k(X, X.argmax(1), 1),
        np.array([True, True, True]),
    ),
    "attention": (
        lambda: rd.nn.scaled_dot_product_attention(X[None], Y[None], Y[None]),
        (softmax(X @ Y.T / 2) @ Y)[None],
    ),
    "causal attention": (
        lambda: rd.nn.scaled_dot_product_attention(
            X[None], Y[None], Y[None], causal=True
        )[0, 0],
        Y[0],
    ),
}


def through(queue):
    with rd.control_dependencies([queue.enqueue(X)]):
        return queue.dequeue()


def averaged(acc):
    with rd.control_dependencies([acc.apply_grad(X), acc.apply_grad(Y)]):
        return acc.take_grad(2)


def averaged_rows(acc):
    with rd.control_dependencies([acc.apply_grad([2, 0, 1], X)]):
        return acc.take_grad(1)[1]


QUEUES = {
    "FIFOQueue": (lambda: through(rd.FIFOQueue(3, rd.float32)), X),
    "RandomShuffleQueue": (lambda: through(rd.RandomShuffleQueue(3, 0, "float32")), X),
    "CriticalSection": (lambda: rd.CriticalSection().execute(lambda: X), X),
    "ConditionalAccumulator": (
        lambda: averaged(rd.ConditionalAccumulator(rd.float32)),
        (X + Y) / 2,
    ),
    "SparseConditionalAccumulator": (
        lambda: averaged_rows(rd.SparseConditionalAccumulator(rd.float32)),
        X[[1, 2, 0]],
    ),
}


@rd.custom_gradient
def _shifted(x):
    return x + 1, lambda dy: dy * 2


def _after(*checks):
    with rd.control_dependencies(checks):
        return rd.identity(X)


PROGRAM = {
    "Print": (lambda: rd.Print(X, [X, "text"], "message"), X),
    "print": (lambda: _after(rd.print("x", X)), X),
    "py_func": (lambda: rd.py_func(np.sin, [X], rd.float32), np.sin(X)),
    "custom_gradient": (lambda: _shifted(X), X + 1),
    "Assert": (lambda: _after(rd.Assert(True, [X])), X),
    "assertions": (
        lambda: _after(
            rd.assert_equal(X, X),
            rd.assert_none_equal(X, X + 1),
            rd.assert_less(X, X + 1),
            rd.assert_less_equal(X, X),
            rd.assert_greater(X, X - 1),
            rd.assert_greater_equal(X, X),
            rd.assert_near(X, X + np.float32(1e-7)),
            rd.assert_positive(P),
            rd.assert_negative(-P),
            rd.assert_non_negative(P * 0),
            rd.assert_non_positive(P * 0),
            rd.assert_rank(X, 2),
            rd.assert_rank_at_least(X, 1),
            rd.assert_rank_in(X, [1, 2]),
            rd.assert_integer(N),
            rd.assert_type(X, rd.float32),
            rd.assert_scalar(1.0),
        ),
        X,
    ),
}
CASES = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **ARRAYS,
    **MATRICES,
    **NN,
    **QUEUES,
    **PROGRAM,
}


@pytest.mark.parametrize("name", CASES)
def test_value(name):
    build, want = CASES[name]
    tensor = build()
    with rd.Session() as session:
        got = session.run(tensor)
    want = np.asarray(want)
    assert np.shape(got) == want.shape
    assert tensor.shape.is_compatible_with(want.shape)
    if want.dtype.kind in "iub":
        assert got.dtype == want.dtype
    assert np.allclose(got, want, rtol=2e-5, atol=1e-6, equal_nan=True)


def test_random_numbers():
    n = 20000
    made = [
        rd.random_uniform([n], -2, 3, seed=1),
        rd.random_uniform([n], 0, 10, rd.int32, seed=2),
        rd.random_normal([n], 5, 2, rd.float64),
        rd.truncated_normal([n], 0, 1),
        rd.random_shuffle(np.arange(n)),
        rd.multinomial([[0.0, 0.0, -100.0]], n),
        rd.nn.dropout(rd.ones([n]), rate=0.25),
    ]
    with rd.Session() as session:
        got = session.run(made)
        again = session.run(made)
    uniform, ints, normal, cut, shuffled, classes, dropped = got
    assert -2 <= uniform.min() < -1.9 and 2.9 < uniform.max() < 3
    assert set(ints) == set(range(10)) and ints.dtype == np.int32
    assert normal.dtype == np.float64
    assert normal.mean() == pytest.approx(5, abs=0.1)
    assert normal.std() == pytest.approx(2, abs=0.1)
    assert abs(cut).max() <= 2
    assert sorted(shuffled) == list(range(n)) and list(shuffled[:9]) != list(range(9))
    assert set(classes[0]) == {0, 1} and classes.shape == (1, n)
    assert dropped.mean() == pytest.approx(1, abs=0.05)
    assert set(np.unique(dropped)) == {0, np.float32(4 / 3)}
    assert all(not np.array_equal(a, b) for a, b in zip(got, again, strict=True))


def test_cells():
    x, h, c = X[:, :2], Y[:, :2], X[:, 2:]
    kx, kh, b = RNG.normal(size=(3, 2, 8)).astype(np.float32)
    b = b[0]
    new_h, new_c = rd.nn.lstm_cell(x, h, c, kx, kh, b)
    gru = rd.nn.gru_cell(x, h, kx[:, :6], kh[:, :6], b[:6])
    with rd.Session() as session:
        got_h, got_c, got = session.run([new_h, new_c, gru])

    def s(v):
        return 1 / (1 + np.exp(-v))

    i, j, f, o = np.split(x @ kx + b + h @ kh, 4, 1)
    want_c = c * s(f + 1) + s(i) * np.tanh(j)
    assert np.allclose(got_c, want_c, atol=1e-5)
    assert np.allclose(got_h, np.tanh(want_c) * s(o), atol=1e-5)
    assert got.shape == h.shape


def test_initializers():
    shape = [200, 300]
    kinds = {
        "zeros": (rd.initializers.zeros(), 0),
        "ones": (rd.initializers.ones(), 0),
        "constant": (rd.initializers.constant(3), 0),
        "uniform": (rd.initializers.random_uniform(-1, 1), 3**-0.5),
        "normal": (rd.initializers.random_normal(0, 2), 2),
        "cut": (rd.initializers.truncated_normal(0, 1), 0.88),
        "glorot": (rd.initializers.glorot_uniform(), (2 / 500) ** 0.5),
        "glorot normal": (rd.initializers.glorot_normal(), (2 / 500) ** 0.5),
        "he": (rd.initializers.he_normal(), 0.1),
        "he uniform": (rd.initializers.he_uniform(), 0.1),
        "lecun": (rd.initializers.lecun_normal(), 0.005**0.5),
    }
    made = [kind(shape, dtype=rd.float32) for kind, _ in kinds.values()]
    with rd.Session() as session:
        got = session.run(made)
    for (name, (_, deviation)), array in zip(kinds.items(), got, strict=True):
        assert array.shape == (200, 300), name
        assert array.std() == pytest.approx(deviation, rel=0.03), name
    assert got[1].mean() == 1 and got[2].mean() == 3


def test_losses():
    a, b = np.array([1.0, 0.0], np.float32), np.array([0.3, 0.8], np.float32)
    made = {
        "absolute": (rd.losses.absolute_difference(a, b), abs(a - b).mean()),
        "huber": (rd.losses.huber_loss(a * 3, b), ((2.7 - 0.5) + 0.32) / 2),
        "hinge": (rd.losses.hinge_loss(a, b), (0.7 + 1.8) / 2),
        "log": (rd.losses.log_loss(a, b), -(np.log(0.3) + np.log(0.2)) / 2),
        "sigmoid": (
            rd.losses.sigmoid_cross_entropy(a, b),
            (np.log1p(np.exp(b)) - a * b).mean(),
        ),
    }
    with rd.Session() as session:
        got = session.run({k: v[0] for k, v in made.items()})
    for name, (_, want) in made.items():
        assert got[name] == pytest.approx(want, rel=1e-4), name


def test_data():
    dataset = rd.data.Dataset.from_tensor_slices({"x": X, "n": [1, 2, 3]})
    batch = dataset.batch(3).make_one_shot_iterator().get_next()
    with rd.Session() as session:
        got = session.run(batch)
        with pytest.raises(rd.errors.OutOfRangeError):
            session.run(batch)
    assert np.array_equal(got["x"], X) and got["n"].tolist() == [1, 2, 3]
    kinds = {"TextLineDataset", "FixedLengthRecordDataset", "TFRecordDataset"}
    assert kinds <= set(dir(rd.data)) and "Iterator" in dir(rd.data)


def test_every_name_is_there_and_documented():
    for name in rd.__all__:
        thing = getattr(rd, name)
        if callable(thing) and not isinstance(thing, type):
            assert thing.__doc__ or name in ("add_to_collection",), name
    for module in (rd.nn, rd.layers, rd.losses, rd.train, rd.initializers):
        for name in module.__all__:
            assert hasattr(module, name), name
