"""Who makes the sessions of a MonitoredSession: the chief's, and others'."""

from ..framework.graph import get_default_graph
from .scaffold import Scaffold, collected
from .session_manager import SessionManager, closed_on_error


class SessionCreator:
    """The base: makes the sessions of a MonitoredSession."""

    def create_session(self):
        raise NotImplementedError


class ChiefSessionCreator(SessionCreator):
    """Restores the latest checkpoint, or initialises the variables."""

    def __init__(
        self,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
    ):
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint = checkpoint_filename_with_path

    def create_session(self):
        scaffold = self._scaffold.finalize()
        return _manager(scaffold).prepare_session(
            self._master,
            init_op=scaffold.init_op,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Waits until the chief has initialised the variables."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self):
        manager = _manager(self._scaffold.finalize())
        return manager.wait_for_session(
            self._master, self._config, self._max_wait_secs, interval_secs=0.5
        )


class ReplicaSessionCreator(SessionCreator):
    """Makes a session as another creator does, then gives all ranks of a strategy
    the variables of rank 0."""

    def __init__(self, creator, strategy):
        self._creator = creator
        self._strategy = strategy

    def create_session(self):
        # Before the other one ends the building of the graph.
        broadcast = collected("strategy_broadcast", self._strategy.broadcast)
        session = self._creator.create_session()
        with closed_on_error(session):
            session.run(broadcast)
        return session


def _manager(scaffold):
    return SessionManager(
        scaffold.local_init_op,
        scaffold.ready_op,
        scaffold.ready_for_local_init_op,
        get_default_graph(),
    )
