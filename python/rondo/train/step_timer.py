"""SecondOrStepTimer: when it is time again."""

import time

from ..errors import InvalidArgumentError


class SecondOrStepTimer:
    """Every so many steps, or every so many seconds."""

    def __init__(self, every_secs=None, every_steps=None):
        if (every_secs is None) == (every_steps is None):
            raise InvalidArgumentError(
                "it takes either a number of seconds or a number of steps"
            )
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self):
        self._last_step = None
        self._last_time = None

    def last_triggered_step(self):
        return self._last_step

    def should_trigger_for_step(self, step):
        """Whether it is time, `step` steps after the beginning."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step):
        """(seconds, steps) since the last time; (None, None) at first."""
        now = time.monotonic()
        if self._last_step is None:
            passed = (None, None)
        else:
            passed = (now - self._last_time, step - self._last_step)
        self._last_step, self._last_time = step, now
        return passed
