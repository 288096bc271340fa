"""Queues, accumulators, critical sections, and the threads that use them."""

import os
import signal
import threading

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


def in_thread(function, *args):
    """A thread, started, with what the function gave or raised in `.got`."""

    def call():
        try:
            thread.got = function(*args)
        except Exception as e:
            thread.got = e

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def until(condition):
    """Waits for what another thread does."""
    while not condition():
        pass


# ---- Queues -----------------------------------------------------------------


def test_first_in_first_out():
    queue = rd.FIFOQueue(10, rd.float32, shapes=[[]], name="q")
    x = rd.placeholder(rd.float32, [])
    put, take, size = queue.enqueue(x), queue.dequeue(), queue.size()
    assert queue.name == "q" and queue.dtypes == [rd.float32]
    assert take.shape == [] and queue.shapes[0].as_list() == []
    with rd.Session() as session:
        for value in (1, 2, 3):
            session.run(put, {x: value})
        assert session.run(size) == 3
        assert [session.run(take) for _ in range(3)] == [1, 2, 3]
        # What was fed is the program's to change.
        array = np.array(5, np.float32)
        session.run(put, {x: array})
        array[()] = 6
        assert session.run(take) == 5


def test_elements_of_several_components():
    queue = rd.FIFOQueue(10, [rd.float32, rd.int64], shapes=[[2], []])
    put = queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [7, 8, 9]])
    n = rd.placeholder(rd.int32, [])
    many = queue.dequeue_many(n)
    assert many[0].shape.as_list() == [None, 2]
    assert queue.dequeue_many(2)[0].shape.as_list() == [2, 2]
    one = queue.dequeue()
    with rd.Session() as session:
        session.run(put)
        a, b = session.run(one)
        assert a.tolist() == [1, 2] and b == 7
        a, b = session.run(many, {n: 2})
        assert a.tolist() == [[3, 4], [5, 6]] and b.tolist() == [8, 9]


def test_elements_by_name():
    queue = rd.FIFOQueue(4, [rd.float32, rd.int32], names=["image", "label"])
    put = queue.enqueue({"label": 3, "image": [1.0, 2.0]})
    take = queue.dequeue()
    with rd.Session() as session:
        session.run(put)
        got = session.run(take)
    assert got["image"].tolist() == [1, 2] and got["label"] == 3
    with pytest.raises(rd.InvalidArgumentError, match="image, label"):
        queue.enqueue({"image": 1.0})
    with pytest.raises(rd.InvalidArgumentError, match="without names"):
        rd.FIFOQueue(4, [rd.float32]).enqueue({"a": 1.0})
    with pytest.raises(rd.InvalidArgumentError, match="1 names for 2"):
        rd.FIFOQueue(4, [rd.float32, rd.int32], names=["image"])


def test_one_of_several_queues():
    queues = [rd.FIFOQueue(2, [rd.int32], name=f"q{i}") for i in range(3)]
    assert rd.QueueBase.from_list(1, queues) is queues[1]
    assert rd.FIFOQueue.from_list(rd.constant(2), queues) is queues[2]
    other = rd.FIFOQueue(2, [rd.float32], name="other")
    for index, given, why in (
        (3, queues, "the index is 3, and there are 3 queues"),
        (0, [], "there are 0 queues"),
        (rd.placeholder(rd.int32), queues, "must be a constant here"),
        (0, [queues[0], other], '"other" and "q0" have other types'),
        (0, ["q0"], "'q0' is not a queue"),
    ):
        with pytest.raises(rd.InvalidArgumentError, match=why):
            rd.QueueBase.from_list(index, given)


def test_closed_queue():
    queue = rd.FIFOQueue(10, rd.int32, shapes=[[]], name="numbers")
    put, close, is_closed = queue.enqueue(1), queue.close(), queue.is_closed()
    many, up_to, one = queue.dequeue_many(3), queue.dequeue_up_to(3), queue.dequeue()
    with rd.Session() as session:
        session.run(put)
        session.run(put)
        assert not session.run(is_closed)
        session.run(close)
        assert session.run(is_closed)
        with pytest.raises(rd.errors.OutOfRangeError, match='"numbers".*size 2'):
            session.run(many)
        assert session.run(up_to).tolist() == [1, 1]
        with pytest.raises(rd.errors.OutOfRangeError, match="queue_test.py"):
            session.run(one)
        with pytest.raises(rd.errors.CancelledError, match='"numbers" is closed'):
            session.run(put)


def test_closed_while_waiting():
    queue = rd.FIFOQueue(10, rd.float32, shapes=[[]], name="q")
    put, close, size = queue.enqueue(1.0), queue.close(), queue.size()
    two = queue.dequeue_many(2)
    with rd.Session() as session:
        session.run(put)
        waits = in_thread(session.run, two)
        until(lambda: session.run(size) == 0)
        session.run(close)
        waits.join()
        assert isinstance(waits.got, rd.OutOfRangeError)
        assert '"q"' in str(waits.got)
        assert session.run(size) == 1


def test_pending_enqueues_are_cancelled_on_request():
    queue = rd.FIFOQueue(1, rd.float32, shapes=[[]], name="q")
    put, size = queue.enqueue_many([1.0, 2.0]), queue.size()
    cancel = queue.close(cancel_pending_enqueues=True)
    with rd.Session() as session:
        waits = in_thread(session.run, put)
        until(lambda: session.run(size) == 1)
        session.run(cancel)
        waits.join()
        assert isinstance(waits.got, rd.CancelledError)


def test_wait_ends_in_time_and_with_the_session():
    queue = rd.FIFOQueue(10, rd.float32, shapes=[[]])
    put, size, two = queue.enqueue(1.0), queue.size(), queue.dequeue_many(2)
    session = rd.Session()
    with pytest.raises(rd.errors.DeadlineExceededError):
        session.run(two, options=rd.RunOptions(timeout_in_ms=20))
    session.run(put)
    waits = in_thread(session.run, two)
    until(lambda: session.run(size) == 0)
    session.close()
    waits.join()
    assert isinstance(waits.got, rd.CancelledError)
    assert "session was closed" in str(waits.got)


def test_ctrl_c_ends_a_wait():
    queue = rd.FIFOQueue(10, rd.float32, shapes=[[]])
    put, size, two = queue.enqueue(1.0), queue.size(), queue.dequeue_many(2)
    with rd.Session() as session:
        session.run(put)

        def interrupt():
            until(lambda: session.run(size) == 0)
            os.kill(os.getpid(), signal.SIGINT)

        interrupts = in_thread(interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.run(two)
        interrupts.join()
        assert session.run(size) == 1


def test_random_order_is_that_of_the_seed():
    def order(seed):
        with rd.Graph().as_default():
            queue = rd.RandomShuffleQueue(100, 0, rd.int32, shapes=[[]], seed=seed)
            put = queue.enqueue_many(np.arange(50, dtype=np.int32))
            take = queue.dequeue_many(50)
            with rd.Session() as session:
                session.run(put)
                return session.run(take).tolist()

    first = order(3)
    assert first == order(3) != order(4)
    assert sorted(first) == list(range(50)) != first


def test_random_order_keeps_some_back():
    queue = rd.RandomShuffleQueue(100, 5, rd.int32, shapes=[[]])
    put, close = queue.enqueue_many(np.arange(6, dtype=np.int32)), queue.close()
    take, rest = queue.dequeue(), queue.dequeue_up_to(9)
    with rd.Session() as session:
        session.run(put)
        first = session.run(take)
        with pytest.raises(rd.TimeoutError):
            session.run(take, timeout=0.02)
        session.run(close)
        assert sorted([first, *session.run(rest)]) == list(range(6))


def test_producers_and_consumers():
    queue = rd.FIFOQueue(3, rd.int64, shapes=[[]])
    x = rd.placeholder(rd.int64, [])
    put, take, close = queue.enqueue(x), queue.dequeue(), queue.close()
    with rd.Session() as session:

        def produce(first):
            for i in range(first, first + 100):
                session.run(put, {x: i})

        def consume():
            seen = []
            try:
                while True:
                    seen.append(int(session.run(take)))
            except rd.OutOfRangeError:
                return seen

        consumers = [in_thread(consume) for _ in range(3)]
        producers = [in_thread(produce, 100 * i) for i in range(3)]
        for thread in producers:
            thread.join()
            assert thread.got is None
        session.run(close)
        for thread in consumers:
            thread.join()
    assert sorted(sum((t.got for t in consumers), [])) == list(range(300))


def test_training_from_a_queue():
    """Data from one thread, steps from another, and a variable that both see."""
    queue = rd.FIFOQueue(2, [rd.float32, rd.float32], shapes=[[2], []])
    data = rd.placeholder(rd.float32, [2])
    put = queue.enqueue([data, rd.reduce_sum(data * [3.0, -2.0])])
    close = queue.close()
    x, y = queue.dequeue_many(8)
    w = rd.Variable([0.0, 0.0])
    loss = rd.reduce_mean(rd.square(rd.reduce_sum(x * w, 1) - y))
    train = rd.train.GradientDescentOptimizer(0.1).minimize(loss)
    rng = np.random.default_rng(0)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())

        def produce():
            for _ in range(1600):
                session.run(put, {data: rng.normal(size=2)})
            session.run(close)

        thread = in_thread(produce)
        with pytest.raises(rd.OutOfRangeError):
            while True:
                session.run(train)
        thread.join()
        assert thread.got is None
        assert np.allclose(session.run(w), [3, -2], atol=1e-3)


def test_what_queues_refuse():
    with pytest.raises(rd.InvalidArgumentError, match="capacity"):
        rd.FIFOQueue(0, rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="min_after_dequeue"):
        rd.RandomShuffleQueue(3, 3, rd.float32)
    with pytest.raises(rd.InvalidArgumentError, match="2 components.*1 shapes"):
        rd.FIFOQueue(3, [rd.float32, rd.int32], shapes=[[2]])
    with pytest.raises(rd.InvalidArgumentError, match="no components"):
        rd.FIFOQueue(3, [])
    queue = rd.FIFOQueue(3, [rd.float32, rd.int32], shapes=[[2], []], name="q")
    with pytest.raises(rd.InvalidArgumentError, match="2 components, not 3"):
        queue.enqueue([1.0, 2, 3])
    with pytest.raises(rd.InvalidArgumentError, match=r"shape \[2\], not \[3\]"):
        queue.enqueue([[1.0, 2.0, 3.0], 1])
    with pytest.raises(rd.InvalidArgumentError, match="int32"):
        queue.enqueue([[1.0, 2.0], 1.5])
    with pytest.raises(rd.InvalidArgumentError, match="shapes that are all known"):
        rd.FIFOQueue(3, rd.float32).dequeue_many(2)
    with pytest.raises(rd.InvalidArgumentError, match="n is -1"):
        queue.dequeue_many(-1)


# ---- Accumulators -----------------------------------------------------------


def test_conditional_accumulator():
    acc = rd.ConditionalAccumulator(rd.float32, shape=[2], name="acc")
    grad = rd.placeholder(rd.float32, [2])
    step = rd.placeholder(rd.int64, [])
    apply, count = acc.apply_grad(grad, local_step=step), acc.num_accumulated()
    take, set_step = acc.take_grad(2), acc.set_global_step(step)
    resume = acc.resume_at(step)
    with rd.Session() as session:
        waits = in_thread(session.run, take)
        session.run(apply, {grad: [1, 2], step: 0})
        session.run(apply, {grad: [3, 4], step: 0})
        waits.join()
        assert waits.got.tolist() == [2, 3]
        session.run(apply, {grad: [9, 9], step: 0})  # stale
        assert session.run(count) == 0
        session.run(set_step, {step: 7})
        session.run(apply, {grad: [9, 9], step: 6})
        assert session.run(count) == 0
        session.run(apply, {grad: [9, 9], step: 7})
        assert session.run(count) == 1
        session.run(resume, {step: 3})
        session.run(apply, {grad: [9, 9], step: 2})
        assert session.run(count) == 1
        session.run(apply, {grad: [7, 7], step: 3})
        assert session.run(take).tolist() == [8, 8]
        with pytest.raises(rd.TimeoutError):
            session.run(take, timeout=0.02)
    with pytest.raises(rd.InvalidArgumentError, match=r"shape \[2\], not \[3\]"):
        acc.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(rd.InvalidArgumentError, match="num_required is 0"):
        acc.take_grad(0)
    with pytest.raises(rd.InvalidArgumentError, match="MAX"):
        rd.ConditionalAccumulator(rd.float32, reduction_type="MAX")


def test_sparse_accumulator_of_an_embedding():
    table = rd.Variable(rd.zeros([5, 2], rd.float32))
    ids = rd.placeholder(rd.int32, [None])
    looked_up = rd.nn.embedding_lookup(table, ids)
    (grad,) = rd.gradients(rd.reduce_sum(looked_up), [table])
    acc = rd.SparseConditionalAccumulator(rd.float32, shape=[5, 2])
    apply = acc.apply_indexed_slices_grad(grad)
    more = acc.apply_grad([4], [[7.0, 8.0]])
    taken = acc.take_indexed_slices_grad(3)
    parts = acc.take_grad(1)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        session.run(apply, {ids: [1, 1, 3]})
        session.run(apply, {ids: [3]})
        session.run(more)
        got = session.run(taken)
        assert got.indices.tolist() == [1, 3, 4]
        assert got.values.tolist() == [[2, 2], [1, 1], [7, 8]]
        assert got.dense_shape.tolist() == [5, 2]
        session.run(acc.apply_grad([0], [[1.0, 2.0]], local_step=1))
        indices, values, shape = session.run(parts)
        assert (indices.tolist(), values.tolist()) == ([0], [[1, 2]])
        assert shape.tolist() == [5, 2]
    with pytest.raises(rd.InvalidArgumentError, match="IndexedSlices"):
        acc.apply_indexed_slices_grad(rd.constant([1.0]))


# ---- Critical sections ------------------------------------------------------


def test_critical_section():
    v = rd.Variable(0, trainable=False)
    section = rd.CriticalSection(name="section")
    count = section.execute(lambda: v.assign(v.read_value() + 1))
    op = section.execute(lambda: {"done": [v.assign(v.read_value() + 1).op]})
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())

        def run():
            for _ in range(50):
                session.run([count, op])

        threads = [in_thread(run) for _ in range(4)]
        for thread in threads:
            thread.join()
            assert thread.got is None
        assert session.run(v) == 400


def test_critical_section_refuses_what_would_wait_for_ever():
    section = rd.CriticalSection(name="section")
    with pytest.raises(rd.InvalidArgumentError, match="within itself"):
        section.execute(lambda: section.execute(lambda: rd.constant(1)))
    with pytest.raises(rd.InvalidArgumentError, match="nothing"):
        section.execute(lambda: [])
    with rd.Session() as session:
        assert session.run(section.execute(lambda: rd.constant(3))) == 3


def test_a_run_that_fails_lets_its_lock_go():
    section = rd.CriticalSection()
    closed = rd.FIFOQueue(1, rd.float32)
    fails = section.execute(closed.dequeue)
    works = section.execute(lambda: rd.constant(3))
    with rd.Session() as session:
        session.run(closed.close())
        for _ in range(3):
            with pytest.raises(rd.OutOfRangeError):
                session.run(fails)
            assert session.run(works) == 3


# ---- Threads that fill queues -----------------------------------------------


def test_queue_runner():
    # Two threads count up to 20, together; then the queue is closed.
    source = rd.FIFOQueue(100, rd.int32, shapes=[[]])
    fill = source.enqueue_many(np.arange(20, dtype=np.int32))
    end = source.close()
    queue = rd.FIFOQueue(3, rd.int32, shapes=[[]], name="doubled")
    runner = rd.train.QueueRunner(queue, [queue.enqueue(source.dequeue() * 2)] * 2)
    rd.train.add_queue_runner(runner)
    batch = queue.dequeue_many(5)
    assert rd.get_collection(rd.GraphKeys.QUEUE_RUNNERS) == [runner]
    assert runner.name == "doubled"
    with rd.Session() as session:
        session.run([fill])
        session.run(end)
        coord = rd.train.Coordinator()
        threads = rd.train.start_queue_runners(coord=coord)
        assert len(threads) == 3
        assert runner.create_threads(session, coord) == []
        seen = []
        with coord.stop_on_exception():
            while not coord.should_stop():
                seen += session.run(batch).tolist()
        coord.request_stop()
        coord.join(threads)
        assert coord.joined and not any(t.is_alive() for t in threads)
    assert sorted(seen) == list(range(0, 40, 2))


def test_a_stop_ends_runners_that_wait():
    queue = rd.FIFOQueue(2, rd.float32, shapes=[[]])
    runner = rd.train.QueueRunner(queue, [queue.enqueue(1.0)] * 3)
    size = queue.size()
    with rd.Session() as session:
        coord = rd.train.Coordinator()
        threads = runner.create_threads(session, coord, daemon=True, start=True)
        until(lambda: session.run(size) == 2)
        coord.request_stop()
        coord.join(threads)
        assert not any(t.is_alive() for t in threads)


def test_an_error_in_a_runner_stops_all():
    queue = rd.FIFOQueue(2, rd.float32, shapes=[[]])
    wrong = rd.check_numerics(rd.constant(np.float32(np.nan)), "as it must")
    runner = rd.train.QueueRunner(queue, [queue.enqueue(1.0), queue.enqueue(wrong)])
    with rd.Session() as session:
        coord = rd.train.Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        assert coord.wait_for_stop(60)
        with pytest.raises(rd.InvalidArgumentError, match="as it must"):
            coord.join(threads)
        with pytest.raises(rd.InvalidArgumentError, match="as it must"):
            coord.raise_requested_exception()
        coord.clear_stop()
        assert not coord.should_stop() and not coord.joined
        coord.raise_requested_exception()


def test_runners_without_a_coordinator():
    source = rd.FIFOQueue(2, rd.float32)
    queue = rd.FIFOQueue(2, rd.float32, shapes=[[]])
    runner = rd.train.QueueRunner(queue, [queue.enqueue(source.dequeue())])
    with rd.Session() as session:
        session.run(source.close())
        (thread,) = runner.create_threads(session, start=True)
        thread.join()
        assert runner.exceptions_raised == []
        assert session.run(queue.is_closed())
    with pytest.raises(rd.InvalidArgumentError, match="needs a queue"):
        rd.train.QueueRunner(queue, [])
    with pytest.raises(rd.InvalidArgumentError, match="no default session"):
        rd.train.start_queue_runners()


def test_coordinator_names_threads_that_do_not_stop():
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait, name="stubborn", daemon=True)
    thread.start()
    coord = rd.train.Coordinator()
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join(stop_grace_period_secs=0)
    go_on.set()
    thread.join()


def test_ctrl_c_stops_the_threads_of_a_coordinator():
    coord = rd.train.Coordinator()
    with pytest.raises(KeyboardInterrupt):
        with coord.stop_on_exception():
            raise KeyboardInterrupt
    assert coord.should_stop()
    with pytest.raises(KeyboardInterrupt):
        coord.join([])
