"""Data sets: sources, functions of elements, batches and their order."""

import collections
import sys

import numpy as np
import pytest
from rondo.data import Dataset

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")

Pair = collections.namedtuple("Pair", "a b")


def values(dataset):
    return [np.asarray(x).tolist() for x in dataset]


# ---- Sources


def test_from_tensors():
    dataset = Dataset.from_tensors(([1, 2], 0.5))
    assert dataset.output_types == (rd.int32, rd.float32)
    assert dataset.output_shapes == (rd.TensorShape([2]), rd.TensorShape([]))
    assert dataset.output_classes == (rd.Tensor, rd.Tensor)
    ((a, b),) = list(dataset)
    assert a.tolist() == [1, 2] and b == np.float32(0.5)
    assert "float32" in repr(dataset)


def test_from_tensor_slices_of_an_array_a_tuple_a_dict_and_a_namedtuple():
    x = np.arange(6).reshape(3, 2)
    assert values(Dataset.from_tensor_slices(x)) == x.tolist()
    pairs = list(Dataset.from_tensor_slices((x, [7, 8, 9])))
    assert [b for _, b in pairs] == [7, 8, 9]
    assert isinstance(pairs[0], tuple) and pairs[2][0].tolist() == [4, 5]
    dicts = list(Dataset.from_tensor_slices({"y": x, "x": [1.5, 2.5, 3.5]}))
    assert sorted(dicts[1]) == ["x", "y"]
    assert dicts[1]["x"] == 2.5 and dicts[1]["y"].tolist() == [2, 3]
    named = list(Dataset.from_tensor_slices(Pair(x, (x, [1, 2, 3]))))
    assert isinstance(named[0], Pair) and named[2].b[1] == 3


def test_sources_keep_what_they_were_given():
    x = np.zeros([4, 2], np.float32)
    dataset = Dataset.from_tensor_slices(x)
    x[:] = 7
    rows = list(dataset)
    rows[0][:] = 9  # nor does this change the data
    assert values(dataset) == [[0, 0]] * 4
    fixed = np.ones([2, 2], np.float32)
    fixed.flags.writeable = False
    assert values(Dataset.from_tensor_slices(fixed)) == [[1, 1], [1, 1]]


def test_from_constants_but_not_variables():
    assert values(Dataset.from_tensor_slices(rd.constant([1, 2]))) == [1, 2]
    with pytest.raises(rd.InvalidArgumentError, match="give the array"):
        Dataset.from_tensor_slices(rd.Variable([1.0, 2.0]))
    with pytest.raises(rd.InvalidArgumentError, match="component 1 has 2 rows"):
        Dataset.from_tensor_slices(([1, 2, 3], [1, 2]))
    with pytest.raises(rd.InvalidArgumentError, match="cannot be made a tensor"):
        Dataset.from_tensor_slices(["a", "b"])


def test_range():
    assert values(Dataset.range(3)) == [0, 1, 2]
    assert values(Dataset.range(1, 4)) == [1, 2, 3]
    assert values(Dataset.range(5, 0, -2)) == [5, 3, 1]
    assert Dataset.range(3).output_types == rd.int64
    with pytest.raises(rd.InvalidArgumentError, match="1 to 3 numbers"):
        Dataset.range()


def test_from_generator():
    def pairs(n):
        for i in range(n):
            yield i, [i, i + 0.5]

    dataset = Dataset.from_generator(
        pairs, (rd.int64, rd.float32), ([], [None]), args=(3,)
    )
    assert dataset.output_shapes == (rd.TensorShape([]), rd.TensorShape([None]))
    for _ in range(2):
        assert [(a, b.tolist()) for a, b in dataset] == [
            (0, [0, 0.5]),
            (1, [1, 1.5]),
            (2, [2, 2.5]),
        ]
    many = dataset.repeat(4).prefetch(2).batch(6)
    assert [a.shape for a, _ in many] == [(6,), (6,)]


def test_from_generator_that_is_wrong():
    def bad():
        yield 1
        raise ValueError("no more")

    it = iter(Dataset.from_generator(bad, rd.int32).prefetch(1))
    assert next(it) == 1
    why = "Dataset.from_generator, element 1: the generator raised ValueError: no more"
    with pytest.raises(rd.InvalidArgumentError, match=why) as failed:
        next(it)
    assert type(failed.value.__cause__) is ValueError
    with pytest.raises(rd.InvalidArgumentError, match="does not fit int32"):
        list(Dataset.from_generator(lambda: [0.5], rd.int32))
    with pytest.raises(rd.InvalidArgumentError, match=r"has shape \[2\], expected \[3"):
        list(Dataset.from_generator(lambda: [[1, 2]], rd.int32, [3]))
    with pytest.raises(rd.InvalidArgumentError, match="expected a tuple of 2"):
        list(Dataset.from_generator(lambda: [1], (rd.int32, rd.int32)))
    with pytest.raises(rd.InvalidArgumentError, match="a function"):
        Dataset.from_generator([1], rd.int32)


def test_a_generator_that_ends_the_program():
    """SystemExit has a `code`, which is none of Rondo's."""

    def leaves():
        yield 1
        sys.exit(3)

    dataset = Dataset.from_generator(leaves, rd.int32)
    with pytest.raises(SystemExit) as left:
        list(dataset)
    assert left.value.code == 3
    with rd.Graph().as_default(), rd.Session() as session:
        following = dataset.make_one_shot_iterator().get_next()
        assert session.run(following) == 1
        with pytest.raises(SystemExit):
            session.run(following)


# ---- Functions of elements


def test_a_function_that_uses_what_is_not_its_own():
    with rd.Graph().as_default():
        v, c = rd.Variable(2.0, name="v"), rd.constant(3.0, name="c")
        numbers = Dataset.from_tensor_slices(np.ones(3, np.float32))
        for function, why in (
            (lambda x: x * v, '"v", is of another graph; the function is a graph of'),
            (lambda x: x * c, r"dataset_test.py:\d+\).*use an array, or do this part"),
            (lambda x: c, 'gave "c:0", a tensor of another graph; the function is a'),
            (lambda x: x + rd.Variable(1.0), "makes a variable, Variable .*dataset_te"),
            (lambda x: x * rd.get_variable("w", []), 'makes a variable, Variable "w"'),
        ):
            with pytest.raises(rd.InvalidArgumentError, match=why):
                numbers.map(function)


@pytest.mark.parametrize("calls", [None, 1, 3, -1])
def test_map(calls):
    dataset = Dataset.range(50).map(lambda x: x * 2 + 1, num_parallel_calls=calls)
    assert values(dataset) == [2 * i + 1 for i in range(50)]


def test_map_structures():
    dataset = Dataset.from_tensor_slices((np.arange(4), np.ones([4, 2], np.float32)))
    seen = []

    def function(i, x):
        seen.append((i.dtype, x.shape.as_list()))
        return {"sum": rd.reduce_sum(x) + rd.cast(i, rd.float32), "one": (1, i)}

    mapped = dataset.map(function)
    assert seen == [(rd.int64, [2])], "it is built once"
    assert mapped.output_types == {"sum": rd.float32, "one": (rd.int32, rd.int64)}
    got = list(mapped)
    assert [e["sum"] for e in got] == [2, 3, 4, 5]
    assert [e["one"] for e in got] == [(1, 0), (1, 1), (1, 2), (1, 3)]
    again = mapped.map(lambda e: e["sum"])
    assert values(again) == [2, 3, 4, 5]


def test_map_uses_arrays_but_no_other_graph():
    table = np.array([5.0, 6.0, 7.0], np.float32)
    assert values(Dataset.range(3).map(lambda i: rd.gather(table, i))) == [5, 6, 7]
    outside = rd.constant(1.0)
    with pytest.raises(rd.InvalidArgumentError, match="another graph"):
        Dataset.range(3).map(lambda i: outside)
    with pytest.raises(rd.InvalidArgumentError, match="gave None"):
        Dataset.range(3).map(lambda i: None)


def test_map_failures_name_stage_and_element():
    x = np.array([1.0, np.nan, 2.0], np.float32)
    for calls in None, 2:
        it = iter(
            Dataset.from_tensor_slices(x).map(
                lambda x: rd.check_numerics(x, "is bad"), num_parallel_calls=calls
            )
        )
        assert next(it) == 1
        with pytest.raises(rd.Error, match=r"Dataset\.map, element 1: CheckNumerics"):
            next(it)


def test_filter():
    dataset = Dataset.from_tensor_slices((np.arange(6), np.arange(6) * 10))
    kept = dataset.filter(lambda a, b: rd.equal(a % 2, 0))
    assert [(a, b) for a, b in kept] == [(0, 0), (2, 20), (4, 40)]
    with pytest.raises(rd.InvalidArgumentError, match="expected a scalar of bool"):
        Dataset.range(3).filter(lambda x: x)


def test_interleave_and_flat_map():
    dataset = Dataset.range(1, 4)
    twice = dataset.interleave(
        lambda n: Dataset.from_tensors(n).repeat(2), cycle_length=2, block_length=1
    )
    assert values(twice) == [1, 2, 1, 2, 3, 3]
    flat = dataset.flat_map(lambda n: Dataset.range(n))
    assert values(flat.prefetch(1)) == [0, 0, 1, 0, 1, 2]
    with pytest.raises(rd.InvalidArgumentError, match="expected a data set"):
        dataset.flat_map(lambda n: n)


# ---- Batches and order


def test_batch():
    dataset = Dataset.from_tensor_slices((np.arange(5), np.eye(5, dtype=np.float32)))
    batches = list(dataset.batch(2))
    assert [b[0].tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    assert batches[0][1].shape == (2, 5)
    assert dataset.batch(2).output_shapes[1] == rd.TensorShape([None, 5])
    dropped = dataset.batch(2, drop_remainder=True)
    assert dropped.output_shapes[1] == rd.TensorShape([2, 5])
    assert len(list(dropped)) == 2


def test_batch_of_different_shapes():
    ragged = Dataset.range(1, 4).map(lambda n: rd.fill([n], n))
    with pytest.raises(rd.InvalidArgumentError, match="use padded_batch"):
        list(ragged.batch(3))
    assert values(ragged.padded_batch(3, [None])) == [[[1, 0, 0], [2, 2, 0], [3, 3, 3]]]
    padded = ragged.padded_batch(2, [4], padding_values=-1)
    assert values(padded)[0] == [[1, -1, -1, -1], [2, 2, -1, -1]]
    pair = Dataset.zip((ragged, Dataset.range(9)))
    (first, _) = list(pair.padded_batch(2, ([None], []), (9, 0)))
    assert first[0].tolist() == [[1, 9], [2, 2]] and first[1].tolist() == [0, 1]
    with pytest.raises(rd.InvalidArgumentError, match="padded_shapes"):
        pair.padded_batch(2, [None])


def test_shuffle_follows_from_the_seed():
    dataset = Dataset.range(100).shuffle(100, seed=5)
    first, second = values(dataset), values(dataset)
    assert sorted(first) == list(range(100)) and first != list(range(100))
    assert first != second
    again = Dataset.range(100).shuffle(100, seed=5)
    assert [values(again), values(again)] == [first, second]
    fixed = Dataset.range(100).shuffle(100, 5, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed) == first
    both = values(Dataset.range(100).shuffle(100, 5).repeat(2))
    assert both[:100] == first and both[100:] != first


def test_shuffle_follows_from_the_graphs_seed():
    def orders():
        rd.reset_default_graph()
        rd.set_random_seed(3)
        return [values(Dataset.range(100).shuffle(100)) for _ in range(2)]

    first = orders()
    assert first[0] != first[1]
    assert orders() == first
    rd.reset_default_graph()
    free = [values(Dataset.range(100).shuffle(100)) for _ in range(2)]
    assert free[0] != free[1]


def test_repeat_take_skip_shard_zip_concatenate():
    dataset = Dataset.range(3)
    assert values(dataset.repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert values(dataset.repeat().take(4)) == [0, 1, 2, 0]
    assert values(dataset.skip(1)) == [1, 2]
    assert values(Dataset.range(7).shard(3, 1)) == [1, 4]
    assert values(dataset.concatenate(Dataset.range(5, 7))) == [0, 1, 2, 5, 6]
    zipped = Dataset.zip({"a": dataset, "b": (dataset, Dataset.range(9))})
    assert list(zipped)[1] == {"a": 1, "b": (1, 1)} and len(list(zipped)) == 3
    assert values(dataset.apply(lambda d: d.take(1))) == [0]


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.batch(0),
        lambda d: d.shuffle(0),
        lambda d: d.prefetch(0),
        lambda d: d.repeat(-2),
        lambda d: d.shard(2, 2),
        lambda d: d.concatenate(Dataset.from_tensors(1.0)),
        lambda d: Dataset.zip((d, 3)),
        lambda d: d.map(lambda x: x, num_parallel_calls=-2),
    ],
)
def test_arguments_that_make_no_sense(call):
    with pytest.raises(rd.InvalidArgumentError, match="Dataset"):
        call(Dataset.range(3))
