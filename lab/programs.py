"""Programs on the hosts of a lab."""

import contextlib
import fcntl
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import sys

from errors import LabError, ProgramError, UsageError
from processes import FORWARDED, exit_code, handle_signals, held_signals


def has_terminal():
    """Whether Ctrl-C and the like can reach this process, and all of its group."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def terminal_kept():
    """A shell takes the terminal for itself, and cannot give it back from a host,
    where it does not see who had it."""
    tty = os.open("/dev/tty", os.O_RDWR)
    in_front = os.tcgetpgrp(tty) == os.getpgrp()
    try:
        yield
    finally:
        if in_front:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
            with contextlib.suppress(OSError):  # it may have hung up
                os.tcsetpgrp(tty, os.getpgrp())
        os.close(tty)


def check_program(command):
    """Hosts have the machine's files, so what is found here is found there."""
    if not shutil.which(command[0]):
        raise ProgramError(
            f"program '{command[0]}' was not found on PATH; check its name, or give "
            "its path"
        )


def opened(file):
    """For a program to read, from its beginning; nothing where there is no file."""
    file = os.devnull if file is None else file
    try:
        # A pipe would be waited for, and read by all of them together.
        if os.path.isfile(file) or os.path.samefile(file, os.devnull):
            return open(file, "rb")
    except OSError as error:
        raise UsageError(f"--input {file}: {error.strerror}") from None
    raise UsageError(
        f"--input {file}: not a file, which each program could read from its "
        "beginning; write what they are to read into a file"
    )


def run_one(lab, index, command):
    """In this process's group if there is a terminal, whose signals reach it there;
    else in one of its own, so that it gets those of this process only."""
    terminal = has_terminal()
    with terminal_kept() if terminal else contextlib.nullcontext():
        return run_in_group(lab, index, command, terminal)


def run_in_group(lab, index, command, terminal):
    awaited = {*FORWARDED, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = lab.enter(index, command, start_new_session=not terminal)
    # Also of a terminal's: they may not have reached it, and twice is better.
    early = signal.sigpending()
    while child.poll() is None:
        came = signal.sigwaitinfo(awaited)
        # The kernel's, not of `kill`. A hang-up is for who leads the session only.
        from_terminal = terminal and came.si_code > 0 and came.si_signo not in early
        early.discard(came.si_signo)
        if came.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid():
            from_terminal = False
        if came.si_signo != signal.SIGCHLD and not from_terminal:
            os.kill(child.pid if terminal else -child.pid, came.si_signo)
    return exit_code(child.returncode)


def run_together(lab, command, places, servers=(), file=None):
    """Runs on several hosts at once. `places` are (host, prefix of its lines,
    variables); the first exit code that is not 0 counts. `servers` are places
    where `rondo parameter-server` runs until all commands are over. Each command
    reads `file`. Signals are handed on; each program has a group of its own, so
    that they come from here only."""
    serve = [rondo_command(), "parameter-server"] if servers else []
    programs = [(place, command, file) for place in places]
    programs += [(place, serve, None) for place in servers]
    children = []
    waiting = selectors.DefaultSelector()

    def start(place, words, file):
        index, prefix, variables = place
        with opened(file) as stdin:
            child = lab.enter(
                index,
                words,
                variables,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        os.set_blocking(child.stdout.fileno(), False)
        waiting.register(child.stdout, selectors.EVENT_READ, [prefix, b""])
        waiting.register(os.pidfd_open(child.pid), selectors.EVENT_READ)
        children.append(child)

    def send(number, _frame=None):
        for child in children:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, number)

    def reap(*_):
        for child in children:
            child.poll()

    def show(key, data, last):
        prefix, rest = key.data
        *lines, key.data[1] = (rest + data).split(b"\n")
        if last and key.data[1]:
            lines.append(key.data[1])
        for line in lines:
            sys.stdout.buffer.write(b"%s: %s\n" % (prefix.encode(), line))
        sys.stdout.buffer.flush()

    stop = set()
    # Also while this waits for who reads the output: a host goes down only when all
    # that ran there has been waited for.
    signal.signal(signal.SIGCHLD, reap)
    with held_signals():  # till there are all whom they are for
        handle_signals(send)
        for program in programs:
            stop = signal.sigpending() & set(FORWARDED)
            if stop:
                break
            start(*program)
    commands = children[: len(places)]
    while any(child.returncode is None for child in commands):
        for key, _ in waiting.select():
            if not key.data:  # a program has ended
                reap()
                waiting.unregister(key.fileobj)
                continue
            data = os.read(key.fd, 1 << 16)
            show(key, data, last=not data)
            if not data:
                waiting.unregister(key.fileobj)
    for server in children[len(places) :]:
        server.kill()
        server.wait()
    # All that they said is in the pipes, which what they have left behind may keep
    # open, and may even fill again.
    for key in filter(lambda key: key.data, waiting.get_map().values()):
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(key.fd, fcntl.fcntl(key.fd, fcntl.F_GETPIPE_SZ))
        show(key, data, last=True)
    codes = [exit_code(child.returncode) for child in commands]
    codes += [128 + number for number in stop]
    return next((code for code in codes if code), 0)


def rondo_command():
    """The command whose lab this is: it says so, or is where a build puts it."""
    here = pathlib.Path(__file__).resolve().parent.parent
    found = os.environ.get("LAB_RONDO") or shutil.which(
        "rondo", path=f"{here / 'build'}:{os.environ.get('PATH', '')}"
    )
    if not found:
        raise LabError("no rondo command for servers; use `rondo lab`, or build it")
    return found
