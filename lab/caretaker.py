"""How labs go up and down: wholly, whatever happens meanwhile."""

import contextlib
import fcntl
import os

from errors import LabError
from hosts import Lab
from processes import held_signals, ignore_signals
from shape import differences


@contextlib.contextmanager
def locked():
    """One `up` or `down` at a time on this machine."""
    with open("/run/lock/rondo-lab.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bring_up(name, shape):
    # A caretaker comes to its end after the lock does, which it may need.
    with contextlib.ExitStack() as stack, locked():
        lab = Lab(name)
        if lab.alive():
            differs = differences(lab.state, shape)
            if not differs:
                return lab
            raise LabError(
                f"lab '{name}' is up, but is another: {differs}; rondo lab down "
                f"--name {name} first, or choose another --name"
            )
        lab.down()  # what an interrupted run may have left
        keep = stack.enter_context(caretaker(name))
        try:
            lab.up(shape)
        except BaseException:
            ignore_signals()
            lab.down()
            keep()  # if that failed, the caretaker tries it too
            raise
        keep()
        return lab


@contextlib.contextmanager
def caretaker(name):
    """While this is entered, the lab goes down with this process, however it
    ends: a child waits for the end of a pipe. Yields what calls that off."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    with held_signals():
        child = os.fork()
        if child == 0:
            ignore_signals()
    if child == 0:
        code = 1
        try:
            os.setsid()
            # Else the lock of `up` would stay, and who reads our output wait.
            null = os.open("/dev/null", os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            os.closerange(3, read)
            os.closerange(read + 1, 1 << 10)
            if not os.read(read, 1):
                take_down(name)
            code = 0
        finally:
            os._exit(code)
    os.close(read)
    try:
        yield lambda: os.write(write, b"k")
    finally:
        os.close(write)
        _, status = os.waitpid(child, 0)
    if status:
        raise LabError(f"lab '{name}' did not go down: rondo lab down --name {name}")


def take_down(name):
    """Whether there was such a lab."""
    with locked():
        lab = Lab(name)
        there = lab.there()
        lab.down()
    return there
