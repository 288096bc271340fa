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
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    FORWARDED = FORWARDED[:2]  # of `nohup`, which is for programs too
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
            preexec_fn=dying_with(os.getpid()),
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


def dying_with(parent):
    """What a child calls to end with its parent."""

    def begin():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # Who has a host's pids does not see it, but its /proc still does.
        if parent_of("self") != parent:
            os._exit(1)

    return begin


def stat_of(pid):
    """The fields of /proc/PID/stat behind the command's name: its state, its parent,
    ...; or None."""
    try:
        # The name is any bytes, and may be cut within a letter.
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return stat[stat.rindex(")") + 2 :].split()


def start_time(pid):
    """A process's start, which with its pid names it beyond reuse; or None."""
    fields = stat_of(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def parent_of(pid):
    fields = stat_of(pid)
    return int(fields[1]) if fields else None


def is_stopped(pid):
    fields = stat_of(pid)
    return bool(fields) and fields[0] == "T"


def all_processes():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def child_of(pid):
    """The one child of `pid`, or None."""
    return next((child for child in all_processes() if parent_of(child) == pid), None)


def processes_with(*words):
    """Those that have them among their arguments, with their starts."""
    found = []
    for pid in all_processes():
        start = start_time(pid)
        with contextlib.suppress(OSError):
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if {word.encode() for word in words} <= set(line.split(b"\0")):
                found.append((pid, start))
    return found


def parents_outside(holder):
    """Of what was started on a holder's host: the processes that wait for its end."""
    namespaces = {}
    for pid in all_processes():
        with contextlib.suppress(OSError):
            namespaces[pid] = os.readlink(f"/proc/{pid}/ns/pid")
    host = namespaces.get(holder)
    here = [pid for pid in namespaces if pid != holder and namespaces[pid] == host]
    parents = {parent_of(pid) for pid in here}
    return [pid for pid in parents if namespaces.get(pid) not in (None, host)]


def end(pid, start):
    """Kills a holder, and with it all of its pid namespace, and waits for it."""
    if start_time(pid) != start:
        return  # by now it may even be a thread's, for which there is no handle
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if start_time(pid) != start:
                return
            parents = parents_outside(pid)
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            # It ends when those have noticed that their children have.
            for parent in filter(is_stopped, parents):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(parent, signal.SIGCONT)
            if not select.select([handle], [], [], 10)[0]:
                waiting = ", ".join(map(str, parents))
                raise LabError(
                    f"process {pid} does not end; what runs on its host "
                    f"is waited for by {waiting}: end that"
                )
        finally:
            os.close(handle)


def exit_code(returncode):
    return 128 - returncode if returncode < 0 else returncode


def handle_signals(handler):
    for number in FORWARDED:
        signal.signal(number, handler)


def take_signals():
    """What a child calls that is going to be a program, which gets them itself."""
    handle_signals(signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*FORWARDED, signal.SIGCHLD))


def ignore_signals():
    # Not SIG_IGN: Python complains of a signal that has come before that was said.
    handle_signals(lambda *_: None)
