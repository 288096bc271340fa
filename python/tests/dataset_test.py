"""Data sets: sources, stages, iterators of graphs, files."""

import collections
import gzip
import itertools
import os
import signal
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from rondo.data import (
    Dataset,
    FixedLengthRecordDataset,
    Iterator,
    TextLineDataset,
    TFRecordDataset,
)

import rondo as rd

Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


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


# ---- Iterators of graphs


def test_one_shot_iterator():
    dataset = Dataset.from_tensor_slices({"x": [1.0, 2.0], "y": [3, 4]}).prefetch(1)
    iterator = dataset.make_one_shot_iterator()
    element = iterator.get_next()
    assert element["x"].dtype == rd.float32 and element["y"].shape.as_list() == []
    assert iterator.output_types == {"x": rd.float32, "y": rd.int32}
    total = element["x"] * 10 + rd.cast(element["y"], rd.float32)
    with rd.Session() as session:
        assert session.run([total, element["x"]]) == [13, 1]
        assert session.run(total) == 24
        for _ in range(2):
            with pytest.raises(rd.errors.OutOfRangeError, match="Iterator"):
                session.run(total)
    with rd.Session() as session:
        assert session.run(total) == 13
    with pytest.raises(rd.InvalidArgumentError, match="has no initializer"):
        _ = iterator.initializer


def test_the_end_names_iterator_and_line():
    following = Dataset.range(0).make_one_shot_iterator().get_next()
    with rd.Session() as session, pytest.raises(rd.OutOfRangeError) as e:
        session.run(following)
    assert "IteratorGetNext" in str(e.value) and "dataset_test.py" in str(e.value)


def test_initializable_iterator():
    dataset = Dataset.range(100).shuffle(100, seed=1).batch(100)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with rd.Session() as session:
        with pytest.raises(rd.InvalidArgumentError, match="run its initializer first"):
            session.run(following)
        orders = []
        for _ in range(2):
            session.run(iterator.initializer)
            orders.append(session.run(following).tolist())
            with pytest.raises(rd.OutOfRangeError):
                session.run(following)
    assert orders[0] != orders[1] and sorted(orders[1]) == list(range(100))


def test_iterator_of_what_is_fed():
    features = rd.placeholder(rd.float32, [None, 2])
    labels = rd.placeholder(rd.int64, [None])
    dataset = Dataset.from_tensor_slices((features, {"label": labels}))
    assert dataset.output_shapes[0].as_list() == [2]
    dataset = dataset.map(lambda x, y: (x * 2, y["label"])).repeat(2).batch(3)
    iterator = dataset.make_initializable_iterator()
    x, y = iterator.get_next()
    with rd.Session() as session:
        for n in (3, 1):
            feeds = {features: np.full([n, 2], n), labels: np.arange(n)}
            session.run(iterator.initializer, feed_dict=feeds)
            got = []
            with pytest.raises(rd.OutOfRangeError):
                while True:
                    got.append(session.run((x, y)))
            assert np.concatenate([a for a, _ in got]).tolist() == [[2 * n] * 2] * 2 * n
            assert np.concatenate([b for _, b in got]).tolist() == [*range(n)] * 2
        with pytest.raises(rd.InvalidArgumentError, match="as many rows"):
            feeds = {features: np.zeros([2, 2]), labels: [1]}
            session.run(iterator.initializer, feed_dict=feeds)


def test_what_is_fed_needs_an_initializer():
    fed = Dataset.from_tensors(rd.placeholder(rd.float32, [3]))
    assert fed.output_shapes.as_list() == [3]
    both = Dataset.zip((Dataset.range(3), fed.repeat()))
    with pytest.raises(rd.InvalidArgumentError, match="make_initializable_iterator"):
        both.make_one_shot_iterator()
    with pytest.raises(rd.InvalidArgumentError, match="no value yet"):
        next(iter(both))
    with pytest.raises(rd.InvalidArgumentError, match="has no rows"):
        Dataset.from_tensor_slices(rd.placeholder(rd.float32, []))


def test_iterator_from_structure():
    train = Dataset.from_tensor_slices((np.arange(3), np.eye(3, dtype=np.float32)))
    test = train.map(lambda a, b: (a + 10, b))
    iterator = Iterator.from_structure(train.output_types, train.output_shapes)
    for_train, for_test = map(iterator.make_initializer, (train, test))
    a, b = iterator.get_next()
    assert b.shape.as_list() == [3]
    with rd.Session() as session:
        session.run(for_train)
        assert session.run(a) == 0
        session.run(for_test)
        assert session.run(a) == 10
    with pytest.raises(rd.InvalidArgumentError, match="component 0"):
        iterator.make_initializer(train.map(lambda a, b: (rd.to_float(a), b)))
    with pytest.raises(rd.InvalidArgumentError, match="2 components"):
        iterator.make_initializer(Dataset.range(3))


def test_a_model_trains_from_a_data_set():
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    dataset = Dataset.from_tensor_slices((x, 3 * x + 1)).shuffle(64, 1).repeat()
    a, b = dataset.batch(16).prefetch(2).make_one_shot_iterator().get_next()
    w, c = rd.Variable(0.0), rd.Variable(0.0)
    loss = rd.reduce_mean(rd.square(a * w + c - b))
    step = rd.train.GradientDescentOptimizer(0.3).minimize(loss)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for _ in range(200):
            session.run(step)
        assert session.run(w) == pytest.approx(3, abs=1e-3)
        assert session.run(c) == pytest.approx(1, abs=1e-3)


def test_a_run_that_is_late_loses_no_element():
    go_on = threading.Event()

    def slow():
        go_on.wait(60)
        yield from range(3)

    dataset = Dataset.from_generator(slow, rd.int64)
    following = dataset.make_one_shot_iterator().get_next()
    with rd.Session() as session:
        with pytest.raises(rd.TimeoutError):
            session.run(following, timeout=0.01)
        go_on.set()
        assert session.run(following) == 0
        assert session.run(following) == 1


def test_sessions_and_iterators_end_in_the_middle():
    endless = Dataset.from_generator(itertools.count, rd.int64).prefetch(4)
    for _ in range(5):
        following = endless.map(lambda x: x, 2).make_one_shot_iterator().get_next()
        with rd.Session() as session:
            assert session.run(following) == 0
        assert next(iter(endless)) == 0


def test_iterations_of_several_threads():
    dataset = Dataset.range(1000).map(lambda x: x + 1, num_parallel_calls=2)
    iterator, got = iter(dataset.prefetch(3)), []
    lock = threading.Lock()

    def take():
        while True:
            with lock:
                x = next(iterator, None)
                if x is None:
                    return
                got.append(int(x))

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == list(range(1, 1001))


# A program of its own: its end, and Ctrl-C, while threads are in a generator.
PROGRAM = """
import itertools, os, signal, sys, threading
import rondo as rd
endless = rd.data.Dataset.from_generator(itertools.count, rd.int64)
if sys.argv[1] == "exit":
    it = iter(endless.prefetch(3))
    print(next(it), flush=True)
elif sys.argv[1] == "session":
    x = endless.prefetch(3).make_one_shot_iterator().get_next()
    session = rd.Session()
    print(session.run(x), flush=True)
else:
    never = endless.filter(lambda x: x < 0)
    if sys.argv[1] == "thread":
        never = never.prefetch(1)
    if sys.argv[1] == "stuck":
        waits = iter(lambda: threading.Event().wait(), 1)
        never = rd.data.Dataset.from_generator(lambda: waits, rd.int64).prefetch(1)
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(0.3, interrupt).start()
    try:
        next(iter(never))
    except KeyboardInterrupt:
        print(0, flush=True)
"""


@pytest.mark.parametrize("how", ["exit", "session", "direct", "thread", "stuck"])
def test_programs_end(how):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0\n" and done.stderr == ""


# Python collects garbage in any thread, so also in those of what is collected.
COLLECTED = """
import gc, sys, threading
import rondo as rd

dropped, done = threading.Event(), threading.Event()

def numbers():
    yield 1
    dropped.wait()
    gc.collect()
    done.set()
    yield 2

class Cycle:
    def __init__(self):
        self.me = self

gc.disable()
kept = Cycle()
dataset = rd.data.Dataset.from_generator(numbers, rd.int64).prefetch(2)
if sys.argv[1] == "session":
    kept.session = rd.Session()
    print(kept.session.run(dataset.make_one_shot_iterator().get_next()))
else:
    kept.iterator = iter(dataset)
    print(next(kept.iterator))
del kept
dropped.set()
done.wait()
"""


@pytest.mark.parametrize("what", ["session", "iterator"])
def test_a_thread_lets_go_what_it_belongs_to(what):
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED, what],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


# ---- Files


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    head = struct.pack("<Q", len(data))
    return (
        head + struct.pack("<I", crc32c(head)) + data + struct.pack("<I", crc32c(data))
    )


def texts(dataset):
    return [x.tobytes() for x in dataset]


def test_text_lines(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\r\n\n")
    (tmp_path / "b.txt").write_text("three")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"four\nfive\n"))
    one = TextLineDataset(str(tmp_path / "a.txt"))
    assert texts(one) == [b"one", b"two", b""]
    both = TextLineDataset([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert texts(both) == [b"one", b"two", b"", b"three"]
    packed = TextLineDataset(tmp_path / "c.txt.gz", "GZIP")
    assert texts(packed) == [b"four", b"five"]
    files = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert texts(files) == [bytes(tmp_path / "a.txt"), bytes(tmp_path / "b.txt")]
    assert texts(TextLineDataset(files.skip(1))) == [b"three"]
    turns = files.interleave(TextLineDataset, cycle_length=2)
    assert texts(turns) == [b"one", b"three", b"two", b""]
    shuffled = Dataset.list_files(str(tmp_path / "*"), seed=1)
    assert sorted(texts(shuffled)) == sorted(map(bytes, tmp_path.iterdir()))


def test_fixed_length_records(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 12)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(b"#" * 16 + images.tobytes()))
    dataset = FixedLengthRecordDataset(path, 12, 16, compression_type="GZIP")
    assert dataset.output_shapes == rd.TensorShape([12])
    assert values(dataset) == images.tolist()
    floats = dataset.map(lambda x: rd.cast(rd.reshape(x, [3, 4]), rd.float32) / 2)
    assert floats.output_shapes == rd.TensorShape([3, 4])
    assert np.array_equal(list(floats), images.reshape(2, 3, 4) / 2)
    with pytest.raises(rd.InvalidArgumentError, match="compression_type"):
        FixedLengthRecordDataset(path, 12, compression_type="ZIP")
    with pytest.raises(rd.InvalidArgumentError, match="record_bytes"):
        FixedLengthRecordDataset(path, 0)


def test_tf_records(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(record(b"hello") + record(b"") + record(b"world"))
    assert texts(TFRecordDataset(path)) == [b"hello", b"", b"world"]


def test_bad_files(tmp_path):
    def message(dataset):
        with pytest.raises(rd.InvalidArgumentError) as e:
            list(dataset)
        assert str(tmp_path) in str(e.value)
        return str(e.value)

    path = tmp_path / "a"
    assert "No such file" in message(TextLineDataset(path))
    path.write_bytes(record(b"hello")[:-1])
    assert "record at offset 0 is cut off" in message(TFRecordDataset(path))
    path.write_bytes(record(b"hello").replace(b"hello", b"hallo"))
    assert "checksum of its data" in message(TFRecordDataset(path))
    assert "at offset 20 is cut off" in message(FixedLengthRecordDataset(path, 20))
    assert "not a gzip file" in message(TextLineDataset(path, "GZIP"))
    assert "no file matches" in message(Dataset.list_files(str(tmp_path / "x*")))


def test_signals_are_pythons_again():
    list(Dataset.range(3))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
