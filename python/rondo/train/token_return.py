"""TokenReturn: a worker that leaves a synchronous training hands back its token."""

import atexit
import logging
import sys
import threading
import weakref

from ..errors import CancelledError, Error
from ..framework.session import RunOptions

_log = logging.getLogger("rondo")

# Nobody's end waits longer for a server that does not answer.
_SECS = 5


class TokenReturn:
    """Runs an operation once when a session's worker leaves in good order.

    A worker that has ended a step holds a token: the right to bring a gradient to
    the next one. If it kept it, the others would wait for that gradient, be it only
    because they saw the last step a moment later and began one more.

    It is in the graph's collection of queue runners, so that whatever starts those
    (Supervisor, start_queue_runners) starts its thread, which waits for the
    coordinator's stop; the end of the process is a stop as well. A session whose
    hook calls leave() is left to that hook: its coordinator stops, too, when it is
    lost and made anew.
    """

    def __init__(self, op):
        self._op = op
        self._lock = threading.Lock()
        self._done = weakref.WeakSet()  # sessions that left, or are not ours

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """As a QueueRunner's."""
        if coord is None:
            return []
        thread = threading.Thread(
            target=self._leave_on_stop,
            args=(sess, coord),
            name="token_return",
            daemon=daemon,
        )
        coord.register_thread(thread)
        atexit.register(_at_exit, weakref.ref(self), weakref.ref(sess))
        if start:
            thread.start()
        return [thread]

    def leave_to_hook(self, sess):
        """A hook calls leave() for this session."""
        with self._lock:
            self._done.add(sess)

    def leave(self, sess):
        """Hands back the token. Says nothing of a server that is gone: then there is
        nobody who waits."""
        options = RunOptions(timeout_in_ms=_SECS * 1000)
        try:
            sess.run(self._op, options=options)
        except CancelledError:
            pass  # the session is closed
        except Error as e:
            _log.info("The token of this worker is not handed back: %s", e)

    def _leave_once(self, sess):
        with self._lock:
            if sess in self._done:
                return
            self._done.add(sess)
        self.leave(sess)

    def _leave_on_stop(self, sess, coord):
        coord.wait_for_stop()
        try:
            coord.raise_requested_exception()
        except Exception:
            return  # it is started anew, and then brings what it owes
        self._leave_once(sess)


def _at_exit(token_return, session):
    """Holds on to neither of them."""
    # What Python sets when it prints the exception that ends the program.
    failed = getattr(sys, "last_value", None) is not None
    token_return, sess = token_return(), session()
    if token_return is not None and sess is not None and not failed:
        token_return._leave_once(sess)
