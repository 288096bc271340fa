"""Input by queues."""

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_input_by_queues():
    x, y = rd.train.slice_input_producer(
        [np.arange(6), np.arange(6) * 10.0], num_epochs=1, shuffle=False
    )
    batch = rd.train.batch({"x": x, "y": y}, 4, allow_smaller_final_batch=True)
    names = rd.train.string_input_producer(["one", "three"], 1, shuffle=False)
    text = names.dequeue()
    with rd.Session() as session:
        session.run(rd.local_variables_initializer())
        coord = rd.train.Coordinator()
        threads = rd.train.start_queue_runners(session, coord)
        first, second = session.run(batch), session.run(batch)
        assert first["x"].tolist() == [0, 1, 2, 3] and second["x"].tolist() == [4, 5]
        assert second["y"].tolist() == [40.0, 50.0]
        with pytest.raises(rd.OutOfRangeError):
            session.run(batch)
        assert [bytes(session.run(text)) for _ in range(2)] == [b"one", b"three"]
        coord.request_stop()
        coord.join(threads)
    unknown = rd.placeholder(rd.float32, [None])
    with pytest.raises(rd.InvalidArgumentError, match="must be known"):
        rd.train.batch([unknown], 2)


def test_what_cancels_a_producer_is_the_programs_own():
    stop = rd.no_op()
    rd.train.input_producer(np.arange(3), cancel_op=stop)
    rd.train.string_input_producer(["a"], cancel_op=stop)
    runners = rd.get_collection(rd.GraphKeys.QUEUE_RUNNERS)
    assert [r.cancel_op is stop for r in runners] == [True, False, True]
    with pytest.raises(rd.InvalidArgumentError, match="nothing to take batches from"):
        rd.train.batch([rd.constant(1)], 2, num_threads=0)
