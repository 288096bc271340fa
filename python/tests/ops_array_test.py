"""The array operations against NumPy."""

import numpy as np
import pytest
from graph_ops import run_op

import rondo

DTYPES = [
    np.float64,
    np.float32,
    np.float16,
    np.int64,
    np.int32,
    np.int16,
    np.int8,
    np.uint8,
    np.bool_,
]
NUMBERS = DTYPES[:-1]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (33, 65), (2, 3, 2, 5)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def some(rng, shape, dtype=np.float32):
    """Small whole numbers, which every type holds exactly."""
    return rng.integers(0, 20, shape).astype(dtype)


def same(got, want):
    want = np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def ints(values, dtype=np.int64):
    return np.asarray(values, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_concat(rng, dtype):
    for shape in SHAPES[1:]:
        for axis in range(-len(shape), len(shape)):
            parts = []
            for extent in (2, 0, 5):
                part = list(shape)
                part[axis] = extent
                parts.append(some(rng, part, dtype))
            same(run_op("Concat", parts, axis=axis)[0], np.concatenate(parts, axis))
    x = some(rng, (2, 3), dtype)
    same(run_op("Concat", [x], axis=0)[0], x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_split(rng, dtype):
    for shape in SHAPES[1:]:
        for axis in range(-len(shape), len(shape)):
            extents = list(shape)
            extents[axis] = 6
            x = some(rng, extents, dtype)
            for num in (1, 2, 3):
                parts = run_op("Split", [x], num=num, axis=axis)
                for got, want in zip(parts, np.split(x, num, axis), strict=True):
                    same(got, want)
            parts = run_op("SplitV", [x], sizes=[1, -1, 3, 0], axis=axis)
            for got, want in zip(parts, np.split(x, [1, 3, 6], axis), strict=True):
                same(got, want)
            shapes = [ints(p.shape) for p in parts]
            again = run_op("SplitLike", [x, *shapes], axis=axis)
            for got, want in zip(again, parts, strict=True):
                same(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_stack(rng, dtype):
    for shape in SHAPES:
        parts = [some(rng, shape, dtype) for _ in range(3)]
        for axis in range(-len(shape) - 1, len(shape) + 1):
            stacked = run_op("Stack", parts, axis=axis)[0]
            same(stacked, np.stack(parts, axis))
            back = run_op("Unstack", [stacked], num=3, axis=axis)
            for got, want in zip(back, parts, strict=True):
                same(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transpose(rng, dtype):
    for shape in [*SHAPES, (40, 70), (3, 37, 41), (5, 1, 6), (2, 3, 4, 5, 6)]:
        x = some(rng, shape, dtype)
        same(run_op("Transpose", [x])[0], x.T)
        for _ in range(4):
            perm = rng.permutation(len(shape))
            if len(shape) > 0:
                got = run_op("Transpose", [x], perm=perm.tolist())[0]
                same(got, np.transpose(x, perm))


@pytest.mark.parametrize("dtype", DTYPES)
def test_expand_dims_and_squeeze(rng, dtype):
    for shape in SHAPES:
        x = some(rng, shape, dtype)
        for axis in range(-len(shape) - 1, len(shape) + 1):
            wider = np.expand_dims(x, axis)
            same(run_op("ExpandDims", [x], axis=axis)[0], wider)
            same(run_op("Squeeze", [wider], axes=[axis])[0], x)
            same(run_op("Squeeze", [wider])[0], np.squeeze(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tile(rng, dtype):
    for shape in SHAPES:
        x = some(rng, shape, dtype)
        for most in (2, 4):
            multiples = ints(rng.integers(0, most, len(shape)))
            want = np.tile(x, multiples) if len(shape) else x
            same(run_op("Tile", [x, multiples])[0], want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pad(rng, dtype):
    for shape in SHAPES:
        x = some(rng, shape, dtype)
        by = ints(rng.integers(0, 4, (len(shape), 2)), np.int32)
        want = np.pad(x, by, constant_values=dtype(3)) if len(shape) else x
        same(run_op("Pad", [x, by], value=3.0)[0], want)
        if 0 in shape or not shape:
            continue
        for mode, most in (("symmetric", 0), ("reflect", 1)):
            by = [[rng.integers(0, n + 1 - most) for _ in "ab"] for n in shape]
            got = run_op("Pad", [x, ints(by)], mode=mode.upper())[0]
            same(got, np.pad(x, by, mode))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reverse(rng, dtype):
    for shape in SHAPES:
        x = some(rng, shape, dtype)
        for axis in range(-len(shape), len(shape)):
            same(run_op("Reverse", [x], axes=[axis])[0], np.flip(x, axis))
        axes = list(range(len(shape)))
        same(run_op("Reverse", [x], axes=axes)[0], np.flip(x, axes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_to(rng, dtype):
    for have, want in [
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((3, 1), (3, 4)),
        ((1, 3), (0, 3)),
        ((2, 1, 3), (5, 2, 4, 3)),
        ((4, 5), (4, 5)),
    ]:
        x = some(rng, have, dtype)
        same(run_op("BroadcastTo", [x, ints(want)])[0], np.broadcast_to(x, want))


@pytest.mark.parametrize("dtype", DTYPES)
def test_slice(rng, dtype):
    for shape in SHAPES:
        x = some(rng, shape, dtype)
        for _ in range(4):
            begin = [int(rng.integers(0, n + 1)) for n in shape]
            size = [
                int(rng.integers(-1, n - b + 1))
                for b, n in zip(begin, shape, strict=True)
            ]
            where = tuple(
                slice(b, None if s == -1 else b + s)
                for b, s in zip(begin, size, strict=True)
            )
            got = run_op("Slice", [x, ints(begin), ints(size)])[0]
            same(got, x[where])
            wide = run_op("SliceGrad", [got, ints(begin), ints(shape)])[0]
            want = np.zeros_like(x)
            want[where] = x[where]
            same(wide, want)


def strided(x, index):
    """What TensorFlow makes of x[index]."""
    begin, end, strides = [], [], []
    attrs = dict.fromkeys(
        [
            "begin_mask",
            "end_mask",
            "ellipsis_mask",
            "new_axis_mask",
            "shrink_axis_mask",
        ],
        0,
    )
    for i, entry in enumerate(index):
        b, e, s = 0, 0, 1
        if entry is Ellipsis:
            attrs["ellipsis_mask"] |= 1 << i
        elif entry is None:
            attrs["new_axis_mask"] |= 1 << i
        elif isinstance(entry, slice):
            s = 1 if entry.step is None else entry.step
            if entry.start is None:
                attrs["begin_mask"] |= 1 << i
            else:
                b = entry.start
            if entry.stop is None:
                attrs["end_mask"] |= 1 << i
            else:
                e = entry.stop
        else:
            b = entry
            attrs["shrink_axis_mask"] |= 1 << i
        begin.append(b)
        end.append(e)
        strides.append(s)
    where = [ints(begin, np.int32), ints(end, np.int32), ints(strides, np.int32)]
    got = run_op("StridedSlice", [x, *where], **attrs)[0]
    wide = run_op("StridedSliceGrad", [got, *where, ints(x.shape)], **attrs)[0]
    want = np.zeros_like(x)
    want[index] = x[index]
    same(wide, want)
    return got


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_strided_slice(rng, dtype):
    x = some(rng, (5, 6, 7), dtype)
    for index in [
        (),
        (2,),
        (-1,),
        (slice(1, 4),),
        (slice(None, None, -1),),
        (slice(None, None, 2), slice(5, None, -2)),
        (slice(-3, None), slice(None, -2), slice(1, 6, 3)),
        (Ellipsis, 3),
        (2, Ellipsis),
        (Ellipsis, None),
        (None, 1, Ellipsis, slice(2, 3), None),
        (slice(3, 1),),
        (slice(10, 20),),
        (slice(-100, 100, 4),),
        (slice(100, -100, -3),),
        (1, 2, 3),
    ]:
        same(strided(x, index), x[index])
    for _ in range(200):
        index = []
        for extent in x.shape[: rng.integers(0, 4)]:
            if rng.random() < 0.2:
                index.append(int(rng.integers(-extent, extent)))
            else:
                start, stop = (
                    None if rng.random() < 0.3 else int(rng.integers(-9, 10))
                    for _ in "ab"
                )
                step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
                index.append(slice(start, stop, step))
            if rng.random() < 0.1:
                index.append(None)
        same(strided(x, tuple(index)), x[tuple(index)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_gather(rng, dtype, index):
    for shape in [(5,), (4, 3), (3, 1, 40), (2, 3, 4)]:
        x = some(rng, shape, dtype)
        for axis in range(-len(shape), len(shape)):
            for at in [(), (0,), (6,), (2, 3)]:
                where = ints(rng.integers(0, shape[axis], at), index)
                same(
                    run_op("Gather", [x, where], axis=axis)[0], np.take(x, where, axis)
                )
        ids = ints(rng.integers(0, shape[0], (3, 2)), index)
        same(run_op("EmbeddingLookup", [x, ids])[0], x[ids])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_dense_rows(rng, dtype):
    for shape in [(5,), (4, 3), (3, 1, 40), (2, 3, 4)]:
        for axis in range(len(shape)):
            where = rng.integers(0, shape[axis], (2, 3))
            rows = (
                rng.integers(0, 5, shape[:axis] + (2, 3) + shape[axis + 1 :])
            ).astype(dtype)
            want = np.zeros(shape, dtype)
            for i in np.ndindex(2, 3):
                want[(slice(None),) * axis + (where[i],)] += rows[
                    (slice(None),) * axis + i
                ]
            got = run_op("DenseRows", [rows, ints(where), ints(shape)], axis=axis)
            same(got[0], want)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_gather_nd_and_scatter_nd(rng, dtype):
    shape = (4, 3, 5)
    x = some(rng, shape, dtype)
    for depth in range(4):
        for lead in [(), (0,), (6,), (2, 3)]:
            at = (
                np.stack([rng.integers(0, n, lead) for n in shape[:depth]], -1)
                if depth
                else np.zeros((*lead, 0))
            )
            at = at.astype(np.int32)
            if depth:
                want = x[tuple(np.moveaxis(at, -1, 0))]
            else:
                want = np.broadcast_to(x, lead + shape)
            got = run_op("GatherNd", [x, at])[0]
            same(got, want)
            sums = np.zeros(shape, dtype)
            small = (got % 4).astype(dtype)
            if depth:
                np.add.at(sums, tuple(np.moveaxis(at, -1, 0)), small)
            else:
                sums = small.reshape((-1, *shape)).sum(0).astype(dtype)
            same(run_op("ScatterNd", [at, small, ints(shape)])[0], sums)


@pytest.mark.parametrize("dtype", DTYPES)
def test_along_axis(rng, dtype):
    for shape in [(5,), (4, 3), (2, 3, 4)]:
        x = some(rng, shape, dtype)
        for axis in range(len(shape)):
            at = list(shape)
            at[axis] = 6
            where = rng.integers(0, shape[axis], at)
            want = np.take_along_axis(x, where, axis)
            same(run_op("TakeAlongAxis", [x, where], axis=axis)[0], want)
            if dtype == np.bool_:
                continue
            ones = np.ones(at, dtype)
            got = run_op("AddAlongAxis", [ones, where, ints(shape)], axis=axis)[0]
            counts = [(where == k).sum(axis) for k in range(shape[axis])]
            same(got, np.stack(counts, axis).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_hot(rng, dtype):
    for shape in [(), (0,), (4,), (2, 3)]:
        at = rng.integers(-1, 6, shape)
        for axis in range(-1, len(shape) + 1):
            got = run_op(
                "OneHot", [at, ints(5, np.int32), dtype(1), dtype(0)], axis=axis
            )
            want = (at[..., None] == np.arange(5)).astype(dtype)
            same(got[0], np.moveaxis(want, -1, axis))


def test_range():
    for dtype in NUMBERS:
        for start, limit, delta in [(0, 5, 1), (3, 20, 4), (5, 5, 1), (7, 2, 1)]:
            args = [dtype(start), dtype(limit), dtype(delta)]
            same(run_op("Range", args)[0], np.arange(start, limit, delta, dtype))
    for dtype in (np.float32, np.int64):
        args = [dtype(9), dtype(-3), dtype(-2)]
        same(run_op("Range", args)[0], np.arange(9, -3, -2, dtype))
    got = run_op("Range", [np.float64(0), np.float64(1), np.float64(0.1)])[0]
    np.testing.assert_allclose(got, np.arange(0, 1, 0.1))
    edges = [np.int64(-(2**63)), np.int64(2**63 - 1), np.int64(2**62)]
    same(run_op("Range", edges)[0], np.arange(-(2**63), 2**63 - 1, 2**62))
    with pytest.raises(rondo.Error, match="delta is 0"):
        run_op("Range", [np.int32(0), np.int32(1), np.int32(0)])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arg(rng, dtype):
    for shape in [(1,), (7,), (3, 4), (2, 3, 4), (200, 33), (2, 5, 300)]:
        x = some(rng, shape, dtype)
        for axis in range(-len(shape), len(shape)):
            same(run_op("ArgMax", [x], axis=axis)[0], np.argmax(x, axis))
            same(run_op("ArgMin", [x], axis=axis)[0], np.argmin(x, axis))
    if np.issubdtype(dtype, np.floating):
        x = np.array([1, np.nan, 5, np.nan], dtype)
        assert run_op("ArgMax", [x])[0] == 1
        assert run_op("ArgMin", [x])[0] == 1


@pytest.mark.parametrize("dtype", NUMBERS)
def test_top_k(rng, dtype):
    for shape in [(7,), (3, 4), (2, 0, 4), (50, 400)]:
        x = some(rng, shape, dtype)
        # Of equal ones the first, which a stable sort of the negated has too.
        order = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")
        for k in (0, 1, 3, shape[-1]):
            values, indices = run_op("TopK", [x], k=k)
            same(indices, order[..., :k])
            same(values, np.take_along_axis(x, indices, -1))
            values, indices = run_op("TopK", [x], k=k, sorted=False)
            same(indices, np.sort(order[..., :k], -1))
            same(values, np.take_along_axis(x, indices, -1))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_cumsum(rng, dtype):
    for shape in [(0,), (1,), (7,), (3, 4), (2, 3, 4), (4, 90, 200)]:
        x = rng.integers(0, 3, shape).astype(dtype)
        for axis in range(-len(shape), len(shape)):
            for reverse in (False, True):
                turned = np.flip(x, axis) if reverse else x
                for exclusive in (False, True):
                    want = np.cumsum(turned, axis, dtype=dtype)
                    if exclusive:
                        want = (want - turned).astype(dtype)
                    if reverse:
                        want = np.flip(want, axis)
                    attrs = {"reverse": reverse, "exclusive": exclusive}
                    same(run_op("CumSum", [x], axis=axis, **attrs)[0], want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(rng, dtype):
    for n in (0, 1, 50):
        x = some(rng, n, dtype)
        values, indices, counts = run_op("Unique", [x])
        same(values[indices], x)
        _, first = np.unique(x, return_index=True)
        same(values, x[np.sort(first)])
        same(counts, np.array([(x == v).sum() for v in values], np.int64))
    x = np.array([0.0, -0.0, np.nan, np.nan], np.float32)
    same(run_op("Unique", [x])[2], ints([2, 2]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where(rng, dtype):
    for shape in SHAPES:
        x = rng.integers(0, 2, shape).astype(dtype)
        if shape == ():
            want = np.zeros((int(x != 0), 0), np.int64)
        else:
            want = np.argwhere(x)
        same(run_op("Where", [x])[0], want)


def test_invert_permutation(rng):
    for dtype in (np.int32, np.int64):
        x = rng.permutation(20).astype(dtype)
        same(run_op("InvertPermutation", [x])[0], np.argsort(x).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sequence_mask(rng, dtype):
    for shape in [(), (0,), (4,), (2, 3)]:
        lengths = ints(rng.integers(-1, 7, shape))
        for maxlen in (-1, 0, 5):
            most = max(0, lengths.max(initial=0)) if maxlen < 0 else maxlen
            want = (np.arange(most) < lengths[..., None]).astype(dtype)
            got = run_op("SequenceMask", [lengths], maxlen=maxlen, dtype=dtype)[0]
            same(got, want)


def test_tile_grad_and_pad_grad(rng):
    x = some(rng, (12, 6), np.float64)
    got = run_op("TileGrad", [x, ints([3, 2]), ints([4, 3])])[0]
    same(got, x.reshape(3, 4, 2, 3).sum((0, 2)))
    got = run_op("PadGrad", [x, ints([[1, 2], [0, 3]]), ints([9, 3])])[0]
    same(got, x[1:10, :3])
    got = run_op("PadGrad", [x[0], ints([[1, 1]]), ints([4])], mode="REFLECT")[0]
    a, b, c, d, e, f = x[0]
    same(got, np.array([b, c + a, d + f, e]))
    got = run_op("PadGrad", [x[0], ints([[1, 1]]), ints([4])], mode="SYMMETRIC")[0]
    same(got, np.array([a + b, c, d, e + f]))


def test_16_bit_sums_do_not_lose_what_floats_hold():
    rows = np.ones((4096, 2), np.float16)
    at = np.zeros(4096, np.int64)
    got = run_op("DenseRows", [rows, at, ints([1, 2])])[0]
    same(got, np.full((1, 2), 4096, np.float16))


def test_an_index_out_of_range_is_named():
    x = np.zeros((4, 3), np.float32)
    with pytest.raises(
        rondo.Error, match=r"indices\[1\] is 4, out of range .* extent 4"
    ):
        run_op("Gather", [x, ints([0, 4])])
    with pytest.raises(rondo.Error, match=r"indices\[0, 1\] is -1, .* extent 3"):
        run_op("GatherNd", [x, ints([[0, -1]])])
    with pytest.raises(rondo.Error, match="begin.*out of range|out of range for axis"):
        run_op("Slice", [x, ints([0, 2]), ints([1, 2])])
