"""Random operations: the words of the generator, and distributions."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo
from rondo import _core

MASK = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Philox4x32-10 of rows of four words, in NumPy."""
    c = [counter[:, i].astype(np.uint64) for i in range(4)]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    shift = np.uint64(32)
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [
            (p1 >> shift) ^ c[1] ^ k[0],
            p1 & MASK,
            (p0 >> shift) ^ c[3] ^ k[1],
            p0 & MASK,
        ]
        k = [
            (k[0] + np.uint64(0x9E3779B9)) & MASK,
            (k[1] + np.uint64(0xBB67AE85)) & MASK,
        ]
    return np.stack(c, axis=1).astype(np.uint32)


def mix(x):
    bits = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & bits
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & bits
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & bits
    return x ^ (x >> 31)


def words(count, seed, seed2, run=0):
    """The first words of a node's stream in its run of this number."""
    blocks = (count + 3) // 4
    counter = np.zeros((blocks, 4), np.uint32)
    counter[:, 0] = np.arange(blocks)
    counter[:, 2] = run
    key = mix((mix(seed) + seed2) % (1 << 64))
    return philox(counter, key).reshape(-1)[:count]


def runs(op, inputs, times, **attrs):
    graph = _core.Graph()
    values = [
        graph.add("Const", [], {"value": np.asarray(x)}).outputs[0] for x in inputs
    ]
    node = graph.add(op, values, attrs)
    session = _core.Session(graph)
    return [session.run(node.outputs, [])[0][0] for _ in range(times)]


@pytest.mark.parametrize("shape", [[], [1], [255], [256], [3, 1000], [0, 2]])
def test_uniform_is_the_stream(shape):
    count = int(np.prod(shape))
    got = runs("RandomUniform", [np.array(shape, np.int64)], 3, seed=12, seed2=34)
    for run, array in enumerate(got):
        bits = words(count, 12, 34, run) >> np.uint32(9) | np.uint32(0x3F800000)
        assert array.dtype == np.float32
        assert array.shape == tuple(shape)
        np.testing.assert_array_equal(array.reshape(-1), bits.view(np.float32) - 1)


def test_uniform_of_f64_is_the_stream():
    (got,) = run_op("RandomUniform", [np.array([999])], dtype=np.float64, seed=5)
    bits = words(2 * 999, 5, 0).view(np.uint64) >> np.uint64(12)
    bits |= np.uint64(0x3FF0000000000000)
    np.testing.assert_array_equal(got, bits.view(np.float64) - 1)


def test_integers_are_the_stream():
    least, most = -5, 1000
    (got,) = run_op(
        "RandomUniformInt",
        [np.array([700]), np.int32(least), np.int32(most)],
        seed=1,
        seed2=2,
    )
    assert got.dtype == np.int32
    block = words(2800, 1, 2).reshape(-1, 4).astype(object)
    wanted = []
    for b in block:
        number = b[1] << 96 | b[0] << 64 | b[3] << 32 | b[2]
        wanted.append(least + (number * (most - least) >> 128))
    np.testing.assert_array_equal(got, np.array(wanted, np.int32))


def test_normal_is_box_and_muller():
    (got,) = run_op("RandomNormal", [np.array([256])], mean=2.0, stddev=3.0, seed=8)
    w = words(256, 8, 0)
    u = ((w[:128] >> np.uint32(1)).astype(np.float64) + 0.5) * 2.0**-31
    turn = (w[128:] >> np.uint32(9)).astype(np.float64) * 2.0**-23
    radius = np.sqrt(-2 * np.log(u))
    angle = 2 * np.pi * turn - np.pi
    wanted = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    np.testing.assert_allclose(got, 2 + 3 * wanted, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_truncated_normal(dtype):
    (got,) = run_op("TruncatedNormal", [np.array([100000])], dtype=dtype, seed=8)
    assert got.dtype == dtype
    x = np.sort(got.astype(np.float64))
    assert x[0] >= -2 and x[-1] <= 2
    # Against the distribution function, as Kolmogorov and Smirnov would.
    from math import erf, sqrt

    share = erf(sqrt(2))
    cdf = np.array([(erf(v / sqrt(2)) / share + 1) / 2 for v in x])
    assert np.abs(cdf - np.arange(len(x)) / len(x)).max() < 0.007


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (100,), (31, 3, 2)])
def test_shuffle(dtype, shape):
    x = (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtype)
    (got,) = run_op("RandomShuffle", [x], seed=3)
    assert got.shape == x.shape
    if x.ndim == 0:
        assert got == x
    else:
        rows = lambda a: sorted(r.tobytes() for r in a)  # noqa: E731
        assert rows(got) == rows(x)


def test_shuffle_has_no_favourites():
    got = runs("RandomShuffle", [np.arange(4)], 4800, seed=9)
    _, counts = np.unique([a.tobytes() for a in got], return_counts=True)
    assert len(counts) == 24
    assert counts.min() > 130 and counts.max() < 275


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_multinomial(dtype):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(3, 5)).astype(dtype)
    (got,) = run_op("Multinomial", [logits, np.int32(40000)], seed=2)
    assert got.dtype == np.int64 and got.shape == (3, 40000)
    p = np.exp(logits.astype(np.float64))
    p /= p.sum(axis=1, keepdims=True)
    for row in range(3):
        counts = np.bincount(got[row], minlength=5)
        np.testing.assert_allclose(counts / 40000, p[row], atol=0.012)
    (small,) = run_op(
        "Multinomial", [logits, np.int64(2)], seed=2, output_dtype=np.int32
    )
    assert small.dtype == np.int32 and small.shape == (3, 2)


def test_without_seed_every_session_differs():
    shape = [np.array([8])]
    a, b = (run_op("RandomUniform", shape)[0] for _ in range(2))
    assert (a != b).any()


def test_bad_arguments():
    with pytest.raises(rondo.Error, match="extent of the shape is -3"):
        run_op("RandomUniform", [np.array([-3])])
    with pytest.raises(rondo.Error, match="minval is 2"):
        run_op("RandomUniform", [np.array([3])], minval=2.0, maxval=1.0)
    with pytest.raises(rondo.Error, match="no number between"):
        run_op("RandomUniformInt", [np.array([3]), np.int32(4), np.int32(4)])
    with pytest.raises(rondo.Error, match="no classes"):
        run_op("Multinomial", [np.zeros((2, 0), np.float32), np.int32(4)])
