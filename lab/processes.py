"""Processes of this machine, the signals that they get, and system tools."""

import contextlib
import ctypes
import os
import pathlib
import select
import signal
import subprocess

from errors import LabError

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def held_signals():
    """While this is entered, they wait."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def tool(*args):
    """Runs a system tool to its end; its complaint becomes ours."""
    # It must not go on making things when the caretaker has begun to clean up, which
    # it does not before the tool has closed the caretaker's pipe.
    with held_signals():
        done = subprocess.run(
            args,
            capture_output=True,
            text=True,
            preexec_fn=die_with_parent,
            close_fds=False,
        )
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit {done.returncode}"
        raise LabError(f"`{' '.join(args)}`: {said}")
    return done.stdout


def join(path):
    """Makes a namespace this process's; of pids, that of its later children."""
    with open(path) as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start_time(pid):
    """A process's start, which with its pid names it beyond reuse; or None."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


def child_of(pid):
    """The one child of `pid`, or None."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            if int(stat[stat.rindex(")") + 2 :].split()[1]) == pid:
                return int(entry)
    return None


def processes_with(word):
    """Those that have it among their arguments, but for this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
                if word.encode() in words.split(b"\0"):
                    found.append(int(entry))
    return found


def end(pid, start):
    """Kills a holder, and with it all of its pid namespace, and waits for it."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if start_time(pid) == start:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                if not select.select([handle], [], [], 10)[0]:
                    raise LabError(f"process {pid} does not end")
        finally:
            os.close(handle)


def exit_code(returncode):
    return 128 - returncode if returncode < 0 else returncode


def handle_signals(handler):
    for number in FORWARDED:
        signal.signal(number, handler)


def ignore_signals():
    handle_signals(signal.SIG_IGN)
