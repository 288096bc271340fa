"""A client whose training goes on when it loses a parameter server: no step is
lost, and none is made twice."""

import pytest

import rondo as rd

# No thread ends with an error that nobody is told of.
pytestmark = pytest.mark.filterwarnings(
    "error::pytest.PytestUnhandledThreadExceptionWarning"
)


class Sessions(rd.train.SessionRunHook):
    """Counts the sessions that are made."""

    def begin(self):
        self.count = 0

    def after_create_session(self, session, coord):
        self.count += 1
        self.coord = coord


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_parameter_server_is_lost_and_comes_back(cluster, tmp_path, synchronous):
    c = cluster(ps=1, workers=1)
    with rd.Graph().as_default():
        setter = rd.train.replica_device_setter(
            ps_tasks=1, worker_device="/job:worker/task:0"
        )
        sessions = Sessions()
        hooks = [rd.train.StopAtStepHook(last_step=10), sessions]
        with rd.device(setter):
            v = rd.Variable(10.0, name="v")
            step = rd.train.get_or_create_global_step()
            opt = rd.train.GradientDescentOptimizer(0.1)
            if synchronous:
                opt = rd.train.SyncReplicasOptimizer(opt, 1)
            train = opt.minimize(rd.square(v), global_step=step)
            if synchronous:
                hooks.append(opt.make_session_run_hook(True, num_tokens=0))
        with rd.train.MonitoredTrainingSession(
            c["worker", 0].target,
            checkpoint_dir=tmp_path / "checkpoints",
            save_checkpoint_steps=1,
            hooks=hooks,
        ) as session:
            for _ in range(5):
                session.run(train)
            c["ps", 0].end()
            c.start("ps", 0)
            if synchronous:
                # The thread of the chief, not a run, is the first to notice.
                assert sessions.coord.wait_for_stop(60)
            while not session.should_stop():
                session.run(train)
        assert sessions.count == 2
    last = rd.train.latest_checkpoint(tmp_path / "checkpoints")
    assert rd.train.load_variable(last, "global_step") == 10
    # Each step takes a fifth off: none was lost, and none was made twice.
    assert rd.train.load_variable(last, "v") == pytest.approx(10 * 0.8**10, rel=1e-4)
