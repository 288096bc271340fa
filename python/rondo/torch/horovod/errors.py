"""The exceptions of Horovod's API."""

import os


class HorovodInternalError(RuntimeError):
    """An operation failed: a rank died or left, or the ranks do not agree.

    `elastic.run` catches it, and goes on from the last commit.
    """


class HostsUpdatedInterrupt(RuntimeError):
    """The ranks of the job are to meet again, though none has failed.

    `skip_sync`: the state is the same on all of them, and need not be sent.
    """

    def __init__(self, skip_sync=False):
        super().__init__("the hosts of the job have changed")
        self.skip_sync = skip_sync


def was_forked(what, parent):
    return HorovodInternalError(
        f"{what}: this process (pid {os.getpid()}) was forked from a rank (pid "
        f"{parent}), which keeps its connections; start such a process with spawn"
    )


NOT_INITIALIZED = "Horovod has not been initialized; use hvd.init()."


class NotInitialized(HorovodInternalError, ValueError):
    """An operation came before init(). What only asks, such as rank(), raises a plain
    ValueError, which `elastic.run` does not catch."""

    def __init__(self):
        super().__init__(NOT_INITIALIZED)
