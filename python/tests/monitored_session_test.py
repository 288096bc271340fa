"""Sessions with hooks."""

import logging
import threading

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def fresh(new_graph):
    pass


def counting():
    """A graph whose training operation only counts."""
    step = rd.train.get_or_create_global_step()
    return step, step.assign_add(1)


class Recorder(rd.train.SessionRunHook):
    def __init__(self, fetch=None):
        self.calls = []
        self.results = []
        self._fetch = fetch

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, run_context):
        self.calls.append("before")
        return self._fetch and rd.train.SessionRunArgs(self._fetch)

    def after_run(self, run_context, run_values):
        self.calls.append("after")
        self.results.append(run_values.results)

    def end(self, session):
        self.calls.append("end")


def test_hooks_are_called_in_order():
    _, count = counting()
    value = rd.constant(3)
    hook = Recorder({"value": value})
    with rd.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(count) == 1
        assert not session.should_stop()
    assert hook.calls == ["begin", "create", "before", "after", "end"]
    assert hook.results == [{"value": 3}]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(count)


def test_an_error_ends_the_session_without_end():
    counting()
    hook = Recorder()
    with pytest.raises(KeyError, match="mine"):
        with rd.train.MonitoredSession(hooks=[hook]):
            raise KeyError("mine")
    assert "end" not in hook.calls


def test_the_end_of_the_data_is_no_error():
    x = rd.data.Dataset.range(3).make_one_shot_iterator().get_next()
    seen = []
    with rd.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(int(session.run(x)))
    assert seen == [0, 1, 2]


def test_a_lost_peer_makes_a_new_session():
    """The run is made again, in a session of its own, whose variables are new."""
    failures = [rd.PeerLostError("ps 0 was lost")]

    def work():
        if failures:
            raise failures.pop()
        return np.float32(7)

    result = rd.py_func(work, [], rd.float32)
    hook = Recorder()
    with rd.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(result) == 7
    assert hook.calls.count("create") == 2
    assert hook.calls[-1] == "end"


def test_a_peer_lost_at_the_beginning_makes_a_new_session():
    failures = [rd.PeerLostError("ps 0 was lost"), rd.UnavailableError("no server")]

    def start():
        if failures:
            raise failures.pop()
        return np.float32(7)

    value = rd.Variable(rd.reshape(rd.py_func(start, [], rd.float32), []))
    with rd.train.MonitoredSession() as session:
        assert session.run(value) == 7


def test_a_peer_that_a_thread_lost_is_no_end():
    failures = [ValueError("real trouble"), rd.PeerLostError("ps 0 was lost")]

    class Fails(Recorder):
        def after_create_session(self, session, coord):
            super().after_create_session(session, coord)
            coord.request_stop(failures.pop())

    value = rd.constant(7.0)
    hook = Fails()
    with pytest.raises(ValueError, match="real trouble"):
        with rd.train.MonitoredSession(hooks=[hook]) as session:
            assert not session.should_stop()
            assert session.run(value) == 7
            assert hook.calls.count("create") == 2
            session.should_stop()


def test_a_singular_session_does_not_recover():
    def work():
        raise rd.UnavailableError("no server")

    result = rd.py_func(work, [], rd.float32)
    with pytest.raises(rd.UnavailableError, match="no server"):
        with rd.train.SingularMonitoredSession() as session:
            session.run(result)


def test_stop_at_step():
    _, count = counting()
    runs = 0
    hooks = [rd.train.StopAtStepHook(num_steps=4)]
    with rd.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop():
            session.run(count)
            runs += 1
    assert runs == 4
    with pytest.raises(rd.InvalidArgumentError, match="either num_steps or last_step"):
        rd.train.StopAtStepHook(1, 2)


def test_what_two_feed_is_an_error():
    x = rd.placeholder(rd.float32, [])
    hook = rd.train.FeedFnHook(lambda: {x: 1.0})
    with rd.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(x) == 1.0
        with pytest.raises(rd.InvalidArgumentError, match="both the caller and a hook"):
            session.run(x, {x: 2.0})


def test_nan_loss():
    loss = rd.log(rd.constant(-1.0))
    hook = rd.train.NanTensorHook(loss)
    with pytest.raises(rd.train.NanLossDuringTrainingError, match="NaN loss"):
        with rd.train.MonitoredSession(hooks=[hook]) as session:
            session.run(loss)


def test_checkpoints_and_going_on(tmp_path):
    class Listener(rd.train.CheckpointSaverListener):
        def __init__(self):
            self.saved = []

        def after_save(self, session, global_step_value):
            self.saved.append(global_step_value)

    def train(until, **options):
        rd.reset_default_graph()
        step, count = counting()
        listener = Listener()
        hooks = [
            rd.train.StopAtStepHook(last_step=until),
            rd.train.CheckpointSaverHook(
                tmp_path, save_steps=3, saver=rd.train.Saver(), listeners=[listener]
            ),
        ]
        with rd.train.MonitoredTrainingSession(
            checkpoint_dir=tmp_path, hooks=hooks, save_checkpoint_secs=None
        ) as session:
            first = int(session.run(step))
            while not session.should_stop():
                session.run(count)
        return first, listener.saved

    assert train(7) == (0, [0, 3, 6, 7])
    assert train(8) == (7, [7, 8])
    assert rd.train.latest_checkpoint(tmp_path).endswith("model.ckpt-8")


def test_logging_and_step_counter(caplog, tmp_path):
    logger = logging.getLogger("rondo")
    caplog.set_level(logging.INFO, "rondo")
    logger.addHandler(caplog.handler)
    try:
        step, count = counting()
        hooks = [
            rd.train.StopAtStepHook(6),
            rd.train.LoggingTensorHook({"steps": step}, every_n_iter=2, at_end=True),
            rd.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path)),
        ]
        with rd.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(count)
    finally:
        logger.removeHandler(caplog.handler)
    text = caplog.text
    assert "steps = 0" in text and "steps = 4" in text and "steps = 6" in text
    assert "global_step/sec" in text
    # All is in the file, though its writer lives on.
    (events,) = tmp_path.iterdir()
    assert b"global_step/sec" in events.read_bytes()


def test_all_hooks_of_a_folder_write_one_file(tmp_path):
    """TensorBoard follows the last one only."""
    step, count = counting()
    rd.summary.scalar("steps", step)
    hooks = [rd.train.StopAtStepHook(6)]
    with rd.train.MonitoredTrainingSession(
        summary_dir=tmp_path, hooks=hooks, save_summaries_steps=1,
        log_step_count_steps=1,
    ) as session:  # fmt: skip
        while not session.should_stop():
            session.run(count)
    (events,) = tmp_path.iterdir()
    written = events.read_bytes()
    assert b"global_step/sec" in written and b"steps" in written


def test_one_writer_for_a_folder(tmp_path):
    first = rd.summary.FileWriterCache.get(tmp_path)
    first.close()
    again = rd.summary.FileWriterCache.get(str(tmp_path) + "/")
    assert again is first
    again.add_summary(b"", 1)  # it is open again
    rd.summary.FileWriterCache.clear()
    assert rd.summary.FileWriterCache.get(tmp_path) is not first


def test_a_finalized_graph_takes_nothing_more():
    counting()
    with rd.train.MonitoredSession() as session:
        with pytest.raises(RuntimeError, match="finalized"):
            rd.constant(1)
        assert session.graph.finalized


def test_without_values_it_does_not_begin():
    rd.Variable(1.0, name="left_out")
    scaffold = rd.train.Scaffold(init_op=rd.no_op())
    with pytest.raises(rd.InvalidArgumentError, match="left_out"):
        rd.train.MonitoredSession(rd.train.ChiefSessionCreator(scaffold))


def test_a_worker_waits_for_the_chief_until_its_deadline():
    rd.Variable(1.0, name="of_the_chief")
    creator = rd.train.WorkerSessionCreator(max_wait_secs=0.1)
    with pytest.raises(rd.TimeoutError, match="has not initialised of_the_chief"):
        rd.train.MonitoredSession(creator)


def test_queue_runners_run(new_graph):
    x = rd.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
    seen = []
    with rd.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(int(session.run(x)))
    assert seen == [0, 1, 2, 0, 1, 2]


class Opened(rd.train.SessionRunHook):
    """Keeps what it is told of."""

    def after_create_session(self, session, coord):
        self.session, self.coord = session, coord


def test_what_cannot_begin_leaves_no_session_behind():
    class Fails(Opened):
        def after_create_session(self, session, coord):
            super().after_create_session(session, coord)
            raise KeyError("mine")

    hook = Fails()
    with pytest.raises(KeyError, match="mine"):
        rd.train.MonitoredSession(hooks=[hook])
    assert hook.coord.should_stop()
    with pytest.raises(rd.InvalidArgumentError, match="closed"):
        hook.session.list_devices()


def test_a_run_after_the_end_is_an_error():
    _, count = counting()
    hooks = [rd.train.StopAtStepHook(1)]
    with rd.train.MonitoredSession(hooks=hooks) as session:
        session.run(count)
        with pytest.raises(RuntimeError, match="asked for the end"):
            session.run(count)


def test_a_thread_that_lost_a_peer_is_not_the_end():
    failures = [rd.UnavailableError("ps 0 is away")]

    def work():
        if failures:
            raise failures.pop()
        return np.float32(7)

    queue = rd.FIFOQueue(3, [rd.float32], [[]])
    put = queue.enqueue(rd.reshape(rd.py_func(work, [], rd.float32), []))
    rd.train.add_queue_runner(rd.train.QueueRunner(queue, [put]))
    x = queue.dequeue()
    hook = Opened()
    with rd.train.MonitoredSession(hooks=[hook]) as session:
        first = hook.session
        assert hook.coord.wait_for_stop(60)
        assert not session.should_stop()
        assert session.run(x) == 7
        assert hook.session is not first


def test_a_step_function_asks_for_the_end():
    _, count = counting()
    done = []

    def step(context):
        done.append(context.run_with_hooks(count))
        context.request_stop()
        done.append("not reached")

    with rd.train.MonitoredSession() as session:
        session.run_step_fn(step)
        done.append("nor this")
    assert done == [1]
    with pytest.raises(RuntimeError, match="closed"):
        session.run_step_fn(step)


def test_how_often_to_save(tmp_path):
    counting()
    for what in ("checkpoint", "summaries"):
        both = {f"save_{what}_secs": 5, f"save_{what}_steps": 5}
        with pytest.raises(rd.InvalidArgumentError, match="not both"):
            rd.train.MonitoredTrainingSession(checkpoint_dir=tmp_path, **both)
    with rd.train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path, save_checkpoint_secs=-1
    ):
        pass
    assert rd.train.latest_checkpoint(tmp_path) is None
    with pytest.raises(rd.InvalidArgumentError, match="every_n_iter is 0"):
        rd.train.LoggingTensorHook([], every_n_iter=0)


def test_a_worker_waits_before_local_variables_too():
    v = rd.Variable(1.0, name="of_the_chief")
    rd.Variable(v, collections=[rd.GraphKeys.LOCAL_VARIABLES], trainable=False)
    creator = rd.train.WorkerSessionCreator(max_wait_secs=0.1)
    with pytest.raises(rd.TimeoutError, match="has not initialised of_the_chief"):
        rd.train.MonitoredSession(creator)


def test_one_of_several_savers_must_be_named(tmp_path):
    _, count = counting()
    for _ in range(2):
        rd.add_to_collection(rd.GraphKeys.SAVERS, rd.train.Saver())
    hook = rd.train.CheckpointSaverHook(tmp_path, save_steps=1)
    scaffold = rd.train.Scaffold(saver=rd.train.Saver())
    with pytest.raises(rd.InvalidArgumentError, match="the graph has 2 savers"):
        creator = rd.train.ChiefSessionCreator(scaffold)
        rd.train.MonitoredSession(creator, hooks=[hook])


def test_a_worker_begins_at_a_step():
    step, count = counting()
    polled = threading.Event()

    class Coord(rd.train.Coordinator):
        def wait_for_stop(self, timeout=None):
            polled.set()
            assert advanced.wait(60)
            return False

    advanced = threading.Event()
    hook = rd.train.GlobalStepWaiterHook(3)
    hook.begin()
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        hook.after_create_session(session, Coord())
        context = rd.train.SessionRunContext(None, session)
        waits = threading.Thread(target=hook.before_run, args=(context,))
        waits.start()
        assert polled.wait(60)
        for _ in range(3):
            session.run(count)
        advanced.set()
        waits.join(60)
        assert not waits.is_alive()
    with rd.train.MonitoredSession(hooks=[rd.train.GlobalStepWaiterHook(0)]) as session:
        assert session.run(count) == 1
