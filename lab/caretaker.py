"""How labs go up and down: wholly, whatever happens meanwhile."""

import contextlib
import fcntl
import os
import time

from errors import LabError
from hosts import Lab
from processes import held_signals, ignore_signals, is_stopped
from shape import differences

LOCK = "/run/rondo-lab.lock"
LOCK_SECONDS = 600  # for what others build; one lab of many hosts takes a minute


@contextlib.contextmanager
def locked():
    """One `up` or `down` at a time on this machine."""
    try:
        lock = open(LOCK, "a+")
    except OSError as error:
        raise LabError(f"{LOCK}: {error.strerror}") from None
    with lock:
        end = time.monotonic() + LOCK_SECONDS
        while not taken(lock):
            holder = pid_in(lock)
            if holder and is_stopped(holder):
                raise LabError(
                    f"process {holder} builds or removes a lab and is stopped; let it "
                    f"go on (kill -CONT {holder}), or end it"
                )
            if time.monotonic() > end:
                raise LabError(
                    f"another process ({holder}) builds or removes a lab and does not "
                    "come to an end; end it"
                )
            time.sleep(0.05)
        lock.truncate(0)  # of one that was killed
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)


def taken(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def pid_in(lock):
    """Whose it is; "" before that is written."""
    lock.seek(0)
    return lock.read().strip()


def bring_up(name, shape, token, fresh=False):
    """A lab of that shape: one that is there, unless it has to be `fresh`, or a new
    one, which `token` tells from others of its name."""
    # A caretaker comes to its end after the lock does, which it may need.
    with contextlib.ExitStack() as stack, locked():
        lab = Lab(name)
        if fresh and lab.state:
            raise LabError(f"lab '{name}' is already up; choose another --name")
        if lab.alive():
            differs = differences(lab.state, shape)
            if not differs:
                return lab
            raise LabError(
                f"lab '{name}' is up, but is another: {differs}; rondo lab down "
                f"--name {name} first, or choose another --name"
            )
        lab.down()  # what an interrupted run may have left
        keep = stack.enter_context(caretaker(name, token))
        try:
            lab.up(shape, token)
        except BaseException:
            ignore_signals()
            lab.down()
            keep()  # if that failed, the caretaker tries it too
            raise
        if not fresh:
            ignore_signals()  # it is there to stay, so who made it has succeeded
        keep()
        return lab


@contextlib.contextmanager
def caretaker(name, token):
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
                take_down(name, token)
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


def take_down(name, token=None):
    """Whether there was such a lab. With a token: not if it is another one that has
    the name by now."""
    with locked():
        lab = Lab(name)
        if token and lab.state and lab.state["token"] != token:
            return False
        there = lab.there()
        lab.down()
    return there
