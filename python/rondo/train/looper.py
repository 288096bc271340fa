"""LooperThread: a thread that does something again and again."""

import threading
import time


class LooperThread(threading.Thread):
    """Calls target(*args) every `timer_interval_secs` (0: without a pause) until
    the coordinator stops; what it raises stops the coordinator."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs or 0
        self._call = target
        self._call_args = args or ()
        self._call_kwargs = kwargs or {}
        coord.register_thread(self)

    @classmethod
    def loop(cls, coord, timer_interval_secs, target, args=None, kwargs=None):
        """A thread like this, started."""
        looper = cls(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            following = time.monotonic()
            while not self._coord.wait_for_stop(max(0.0, following - time.monotonic())):
                self.run_loop()
                following += self._interval
            self.stop_loop()

    def start_loop(self):
        """Before the first call."""

    def stop_loop(self):
        """After the last call."""

    def run_loop(self):
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
