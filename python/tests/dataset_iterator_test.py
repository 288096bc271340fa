"""Iterators of data sets: in graphs, in threads, at the end of programs."""

import itertools
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from rondo.data import Dataset, Iterator

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


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
    assert "IteratorGetNext" in str(e.value) and "dataset_iterator_test.py" in str(
        e.value
    )


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


def test_signals_are_pythons_again():
    list(Dataset.range(3))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
