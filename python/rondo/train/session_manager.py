"""SessionManager: sessions that are ready to train, from a checkpoint or not."""

import contextlib
import logging
import time

from ..errors import InvalidArgumentError, TimeoutError
from ..framework.checkpoint import get_checkpoint_state, latest_checkpoint
from ..framework.graph import get_default_graph
from ..framework.session import Session

_log = logging.getLogger("rondo")


@contextlib.contextmanager
def closed_on_error(session):
    try:
        yield
    except BaseException:
        session.close()
        raise


class SessionManager:
    """Makes sessions of a graph in which all variables have values.

    The chief calls prepare_session, which restores or initialises them; others
    call wait_for_session, which waits until the chief has.
    """

    def __init__(
        self,
        local_init_op=None,
        ready_op=None,
        ready_for_local_init_op=None,
        graph=None,
        recovery_wait_secs=30,
        local_init_run_options=None,
    ):
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    def prepare_session(
        self,
        master,
        init_op=None,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
        init_feed_dict=None,
        init_fn=None,
    ):
        """A session whose variables come from the latest checkpoint, or else from
        init_op and init_fn(session)."""
        session, restored = self.recover_session(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        with closed_on_error(session):
            if not restored:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise InvalidArgumentError(
                        "prepare_session: there is no checkpoint, and neither init_op "
                        "nor init_fn nor local_init_op"
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn is not None:
                    init_fn(session)
            self._make_ready(session)
        return session

    def recover_session(
        self,
        master,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
    ):
        """(session, whether a checkpoint was restored)."""
        path = checkpoint_filename_with_path
        if path is None and checkpoint_dir is not None and saver is not None:
            path = self._latest(checkpoint_dir, wait_for_checkpoint, max_wait_secs)
        session = Session(master, graph=self._graph, config=config)
        if path is None or saver is None:
            return session, False
        _log.info("Restoring parameters from %s", path)
        with closed_on_error(session):
            saver.restore(session, path)
        state = checkpoint_dir and get_checkpoint_state(checkpoint_dir)
        if state:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, True

    def wait_for_session(
        self, master, config=None, max_wait_secs=float("inf"), interval_secs=None
    ):
        """A session once another process has initialised the variables.

        Looks for them soon, then ever less often, in the end every
        `recovery_wait_secs`: who begins long after the chief may find it gone.
        """
        if max_wait_secs is None:
            max_wait_secs = float("inf")
        longest = self._recovery_wait_secs if interval_secs is None else interval_secs
        wait = min(0.05, longest)
        until = time.monotonic() + max_wait_secs
        while True:
            session = Session(master, graph=self._graph, config=config)
            with closed_on_error(session):
                missing = self._try_local_init(session)
            if not missing:
                return session
            session.close()
            if time.monotonic() + wait > until:
                raise TimeoutError(
                    f"wait_for_session: after {max_wait_secs} s the chief has not "
                    f"initialised {missing}; is it running?"
                )
            _log.info("Waiting for model to be ready: not initialised: %s", missing)
            time.sleep(wait)
            wait = min(2 * wait, longest)

    def _latest(self, checkpoint_dir, wait, max_wait_secs):
        until = time.monotonic() + max_wait_secs
        while True:
            path = latest_checkpoint(checkpoint_dir)
            if path is not None or not wait:
                return path
            if time.monotonic() > until:
                raise TimeoutError(
                    f"after {max_wait_secs} s there is no checkpoint in "
                    f"{checkpoint_dir}"
                )
            time.sleep(min(1.0, self._recovery_wait_secs))

    def _make_ready(self, session):
        missing = self._try_local_init(session)
        if missing:
            raise InvalidArgumentError(
                f"these variables have no value: {missing}; init_op and "
                "local_init_op, or the checkpoint, must give them one"
            )

    def _try_local_init(self, session):
        """Runs local_init_op once that is allowed. Gives what has no value still."""
        missing = self._left_out(session, self._ready_for_local_init_op)
        if missing:
            return missing
        if self._local_init_op is not None:
            session.run(self._local_init_op, options=self._local_init_run_options)
        return self._left_out(session, self._ready_op)

    @staticmethod
    def _left_out(session, ready_op):
        """The names that an operation gives, as text; empty when all is ready."""
        if ready_op is None:
            return ""
        names = session.run(ready_op)
        return ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in names)
