"""The Supervisor, and the sessions that a SessionManager makes."""

import pytest
import rondo.train.session_manager as session_manager

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def counting():
    """A graph whose training operation only counts."""
    step = rd.train.get_or_create_global_step()
    return step, step.assign_add(1)


def test_supervisor_hands_on_what_the_body_raises(tmp_path):
    v = rd.Variable(2.0)
    supervisor = rd.train.Supervisor(logdir=tmp_path, save_model_secs=0)
    with pytest.raises(KeyError):
        with supervisor.managed_session() as session:
            assert session.run(v) == 2.0
            raise KeyError
    assert supervisor.should_stop()


def test_supervisor_saves_and_begins_again(tmp_path):
    def train():
        rd.reset_default_graph()
        step, count = counting()
        supervisor = rd.train.Supervisor(logdir=tmp_path, save_model_secs=0)
        with supervisor.managed_session() as session:
            first = int(session.run(step))
            for _ in range(3):
                session.run(count)
            supervisor.saver.save(session, supervisor.save_path, global_step=step)
        return first

    assert [train(), train()] == [0, 3]


def test_supervisor_raises_what_comes_after_the_stop():
    rd.Variable(2.0)
    supervisor = rd.train.Supervisor(logdir=None)
    with pytest.raises(KeyError, match="mine"):
        with supervisor.managed_session():
            supervisor.request_stop()
            raise KeyError("mine")
    with supervisor.managed_session():
        supervisor.request_stop()
        raise rd.CancelledError("by the stop")


def test_supervisor_without_a_writer(tmp_path):
    step, count = counting()
    rd.summary.scalar("steps", step)
    supervisor = rd.train.Supervisor(
        logdir=tmp_path, summary_writer=None, save_summaries_secs=1
    )
    with supervisor.managed_session(start_standard_services=False) as session:
        threads = supervisor.start_standard_services(session)
        assert len(threads) == 1  # that of the checkpoints
        session.run(count)


def test_supervisor_takes_what_collections_have():
    v = rd.Variable(2.0)
    rd.add_to_collection(rd.GraphKeys.INIT_OP, v.assign(5.0).op)
    supervisor = rd.train.Supervisor()
    with supervisor.managed_session() as session:
        assert session.run(v) == 5.0


def test_the_graph_of_every_supervisor_is_complete():
    rd.train.Supervisor(is_chief=False)
    with pytest.raises(RuntimeError, match="finalized"):
        rd.constant(1)


def test_options_of_the_local_initialisation():
    supervisor = rd.train.Supervisor(
        local_init_op=rd.no_op(), local_init_run_options="wrong"
    )
    with pytest.raises(rd.InvalidArgumentError, match="expected rondo.RunOptions"):
        supervisor.prepare_or_wait_for_session()


@pytest.fixture
def sessions(monkeypatch):
    """The sessions that a SessionManager makes."""
    made = []

    class Noted(rd.Session):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self)

    monkeypatch.setattr(session_manager, "Session", Noted)
    return made


def test_a_session_that_does_not_become_ready_is_closed(sessions, tmp_path):
    rd.Variable(2.0)
    fails = rd.Assert(False, ["never"])
    manager = rd.train.SessionManager(local_init_op=fails)
    for call in (
        lambda: manager.wait_for_session(""),
        lambda: manager.prepare_session("", init_op=rd.no_op()),
        lambda: manager.recover_session(
            "",
            rd.train.Saver(),
            checkpoint_filename_with_path=str(tmp_path / "none"),
        ),
    ):
        with pytest.raises(rd.Error):
            call()
        with pytest.raises(rd.InvalidArgumentError, match="closed"):
            sessions.pop().list_devices()
    assert not sessions
