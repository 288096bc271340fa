"""Sessions: feeds, fetches, threads, and how a run ends before its time."""

import collections
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_fetches_of_any_nesting():
    a, b = rd.constant(1.0), rd.constant([2, 3])
    v = rd.Variable(5.0)
    with rd.Session() as s:
        s.run(v.initializer)
        got = s.run({"a": a, "rest": [b, (v, "Const:0", v.initializer)]})
        assert got["a"] == 1.0
        assert got["rest"][0].tolist() == [2, 3]
        assert got["rest"][1] == (5.0, 1.0, None)
        assert isinstance(s.run(a), np.float32)
        assert s.run([]) == []
        assert s.run(rd.zeros([2])).tolist() == [0, 0]


def test_feeds_are_converted_but_never_lose_anything():
    x = rd.placeholder(rd.float32, [None, 2], name="x")
    n = rd.placeholder(rd.int32)
    with rd.Session() as s:
        assert s.run(x, {x: [[1, 2]]}).dtype == np.float32
        assert s.run("x:0", {"x:0": np.ones((1, 2))}).tolist() == [[1, 1]]
        assert s.run(n, {n: np.int64(3)}) == 3
        for wrong in (1.5, 2**40, "text", None):
            with pytest.raises(rd.Error, match="Placeholder"):
                s.run(n, {n: wrong})
        with pytest.raises(rd.InvalidArgumentError, match=r"\[\?, 2\].*\[3\]"):
            s.run(x, {x: np.ones(3)})
        with pytest.raises(rd.InvalidArgumentError, match='"x".*must be fed'):
            s.run(x)
        with pytest.raises(rd.InvalidArgumentError, match="another graph"):
            with rd.Graph().as_default():
                s.run(rd.constant(1))
        assert s.run(n, {n: 4}) == 4  # usable afterwards


def test_a_graph_and_a_session_that_are_entered_twice():
    outer, inner = rd.Graph(), rd.Graph()
    with outer.as_default(), inner.as_default():
        with outer.as_default():
            pass
        assert rd.get_default_graph() is inner
    one, two = rd.Session(graph=outer), rd.Session(graph=outer)
    with one.as_default(), two.as_default():
        with one.as_default():
            pass
        assert rd.get_default_session() is two
    assert rd.get_default_session() is None


def test_fetches_in_a_defaultdict():
    with rd.Session() as s:
        got = s.run(collections.defaultdict(list, a=rd.constant(1)))
    assert got == {"a": 1} and got["b"] == []


def test_arguments_that_are_none():
    x = rd.placeholder(rd.float32, name="x")
    with rd.Session() as s:
        for call, why in (
            (lambda: s.run(x, [(x, 1)]), "feed_dict: expected a dict"),
            (lambda: s.run(x, {x: 1}, 3), "options is 3, expected rondo.RunOptions"),
            (lambda: s.run([x, None], {x: 1}), "a fetch is None, as is the gradient"),
        ):
            with pytest.raises(rd.InvalidArgumentError, match=why):
                call()
        assert s.run(x, {x: 1}) == 1


def test_an_array_is_no_fetch():
    with rd.Session() as s, pytest.raises(rd.InvalidArgumentError, match="neither a"):
        s.run(np.zeros(2))


def test_a_fed_array_is_not_copied_and_not_changed():
    x = rd.placeholder(rd.float32)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    with rd.Session() as s:
        got = s.run(rd.identity(x), {x: given})
        got += 1
        assert given[0, 0] == 0
        strided = s.run(rd.identity(x), {x: given.T})
        assert np.array_equal(strided, given.T)
    kept = weakref.ref(given)
    del given, got, strided
    s.close()
    gc.collect()
    assert kept() is None


def test_a_fetched_array_outlives_the_session():
    with rd.Graph().as_default() as graph:
        v = rd.Variable(np.arange(1000))
        s = rd.Session()
        s.run(v.initializer)
        array = s.run(v)
        again = s.run(v.assign_add(np.ones(1000, np.int64)))
    del s, v, graph
    gc.collect()
    assert array.tolist() == list(range(1000))
    assert again.tolist() == list(range(1, 1001))


def test_a_graph_is_freed():
    graph = rd.Graph()
    with graph.as_default():
        x = rd.Variable(rd.ones([2]))
        rd.gradients(rd.reduce_sum(x * x), x)
        rd.Session().run(rd.global_variables_initializer())
    gone = weakref.ref(graph)
    del graph, x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "dtype", "float64 float16 bfloat16 int64 int8 uint8 bool".split()
)
def test_every_type_goes_in_and_comes_out(dtype):
    dtype = rd.as_dtype(dtype)
    given = np.array([0, 1, 1]).astype(dtype.as_numpy_dtype)
    x = rd.placeholder(dtype)
    with rd.Session() as s:
        got = s.run(x, {x: given})
    assert got.dtype == given.dtype == dtype
    assert np.array_equal(got, given)


def test_errors_of_a_run_name_the_line_too():
    x = rd.placeholder(rd.int32)
    bad = rd.constant(1) // x
    with rd.Session() as s:
        with pytest.raises(
            rd.InvalidArgumentError, match=r"FloorDiv.*session_test\.py:\d+"
        ):
            s.run(bad, {x: 0})
        assert s.run(bad, {x: 1}) == 1
        nan = rd.check_numerics(rd.log(rd.constant(-1.0)), "here")
        with pytest.raises(rd.InvalidArgumentError, match="CheckNumerics"):
            s.run(nan)
        with pytest.raises(rd.InvalidArgumentError, match="fetch is None"):
            s.run(None)
        with pytest.raises(rd.InvalidArgumentError, match="no operation"):
            s.run("nothing")
    with pytest.raises(rd.InvalidArgumentError, match="closed"):
        s.run(x)


def endless():
    return rd.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [rd.constant(0)])


def test_a_time_out_ends_a_run():
    loop = endless()
    with rd.Session() as s:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            s.run(loop, timeout=0.2)
        options = rd.RunOptions(timeout_in_ms=100)
        with pytest.raises(rd.TimeoutError):
            s.run(loop, options=options)
        assert time.monotonic() - start < 20
        assert s.run(rd.constant(1)) == 1


def test_an_interrupt_ends_a_run():
    loop = endless()
    with rd.Session() as s:
        for _ in range(2):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                s.run(loop, timeout=30)
            timer.join()
        assert s.run(rd.constant(1)) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_programs_own_does_not_end_a_run():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        loop = endless()
        with rd.Session() as s:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(rd.TimeoutError):
                s.run(loop, timeout=0.5)
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_a_run_is_traced(tmp_path):
    x = rd.constant(np.ones((50, 50), np.float32))
    v = rd.Variable(x)
    y = rd.matmul(v, v, name="product")
    metadata = rd.RunMetadata()
    with rd.Session() as s:
        s.run(v.initializer)
        s.run(y, trace=tmp_path / "trace.json")
        full = rd.RunOptions(trace_level=rd.RunOptions.FULL_TRACE)
        s.run(y, options=full, run_metadata=metadata)
    for text in ((tmp_path / "trace.json").read_text(), metadata.trace):
        names = [e["name"] for e in json.loads(text)["traceEvents"]]
        assert any("product" in n for n in names)


def test_threads_run_at_once():
    x = rd.placeholder(rd.float32, [None])
    y = rd.reduce_sum(x * x)
    config = rd.ConfigProto(inter_op_parallelism_threads=2)
    wrong = []
    with rd.Session(config=config) as s:

        def work(n):
            for _ in range(50):
                if s.run(y, {x: np.full(n, 2.0)}) != 4.0 * n:
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in (1, 10, 100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert not wrong


def test_an_interactive_session_is_the_default():
    s = rd.InteractiveSession()
    assert rd.constant(3).eval() == 3
    v = rd.Variable(2)
    v.initializer.run()
    assert v.eval() == 2
    s.close()
    with pytest.raises(rd.InvalidArgumentError, match="no default session"):
        rd.constant(3).eval()


# Threads of a program that has ended: TensorFlow's programs do not join them.
LEFT_RUNNING = """
import itertools, sys, threading
import rondo as rd

x = rd.random_uniform([])
queue = rd.FIFOQueue(3, [rd.float32], [[]])
numbers = rd.data.Dataset.from_generator(itertools.count, rd.int64).prefetch(2)
fetch = {
    "run": rd.matmul(rd.random_uniform([64, 64]), rd.random_uniform([64, 64])),
    "py_func": rd.py_func(lambda a: a + 1, [x], rd.float32),
    "data": numbers.make_one_shot_iterator().get_next(),
    "queue": queue.enqueue([x]),
}[sys.argv[1]]
session = rd.Session()
begun = threading.Semaphore(0)

def loop():
    while True:
        session.run(fetch)
        begun.release()

for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
for _ in range(3 if sys.argv[1] == "queue" else 30):
    begun.acquire()
print("end")
"""


@pytest.mark.parametrize("what", ["run", "py_func", "data", "queue"])
def test_a_program_ends_while_its_threads_run(what):
    for _ in range(3):  # now and then it went well
        done = subprocess.run(
            [sys.executable, "-c", LEFT_RUNNING, what],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
