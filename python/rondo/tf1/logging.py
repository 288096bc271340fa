"""tf.logging: Python's logging, by the names of TensorFlow."""

import logging as _logging
import sys as _sys

from ._missing import getattr_of

__getattr__ = getattr_of("tf.logging")

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50

# Hooks and sessions write to it too.
_logger = _logging.getLogger("rondo")


class _ToStderr(_logging.StreamHandler):
    """The stderr that there is now: tests replace it."""

    def __init__(self):
        _logging.Handler.__init__(self)

    @property
    def stream(self):
        return _sys.stderr


if not _logger.handlers:
    _handler = _ToStderr()
    _handler.setFormatter(_logging.Formatter("%(levelname)s:tensorflow:%(message)s"))
    _logger.addHandler(_handler)
    _logger.setLevel(WARN)
    _logger.propagate = False

debug, info = _logger.debug, _logger.info
warn = warning = _logger.warning
error, fatal, log = _logger.error, _logger.critical, _logger.log


def set_verbosity(v):
    """Messages below this level are not shown."""
    _logger.setLevel(v)


def get_verbosity():
    return _logger.getEffectiveLevel()


def vlog(level, msg, *args):
    _logger.log(DEBUG, msg, *args)


def flush():
    _sys.stderr.flush()


_counts: dict = {}


def log_every_n(level, msg, n, *args):
    """Every n-th call with this message is shown."""
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        _logger.log(level, msg, *args)


def log_first_n(level, msg, n, *args):
    """The first n calls with this message are shown."""
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count < n:
        _logger.log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        _logger.log(level, msg, *args)


TaskLevelStatusMessage = info
