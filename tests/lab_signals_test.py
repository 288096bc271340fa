"""rondo lab: signals and terminals, of programs on its hosts and of `with`."""

import fcntl
import os
import pty
import select
import signal
import sys

import pytest
from labs import LAB, commands_in, lab, needs_root, start, traces
from ranks import wait_until

NAME = f"signals_{os.getpid()}"

pytestmark = needs_root

# Says which signals it gets, up to SIGTERM.
SIGNALS = """
import signal
seen = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, seen)
print("ready", flush=True)
number = 0
while number != signal.SIGTERM:
    number = signal.sigwait(seen)
    print(number.name, flush=True)
raise SystemExit(7)
"""


@pytest.fixture(scope="module")
def hosts_up():
    lab("up", "--hosts", "3", "--name", NAME, "--rate", "none")
    try:
        yield
    finally:
        lab("down", "--name", NAME)


@pytest.mark.parametrize("place", ["h0", ["-n", "2"]], ids=str)
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_program_gets_each_signal_once(hosts_up, place, send):
    running = start(NAME, place, "python3", "-c", SIGNALS, start_new_session=True)
    count = 1 if place == "h0" else 2

    def said():
        lines = [running.stdout.readline() for _ in range(count)]
        return {line.split(": ")[-1].strip() for line in lines}

    try:
        assert said() == {"ready"}
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            send(running.pid, number)
            assert said() == {number.name}
        assert running.communicate(timeout=20)[0] == ""
        assert running.returncode == 7
    finally:
        running.kill()


RUN = [str(LAB), "run", "--name", NAME, "h0", "--"]


def in_terminal(*command):
    """Its process, and the file that is its terminal's other end."""
    pid, end = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    return pid, open(end, "r+b", buffering=0)


def read_until(terminal, word):
    text = b""
    while word not in text:
        assert select.select([terminal], [], [], 30)[0], text
        text += terminal.read(1000)
    return text


def test_a_program_in_a_terminal_gets_each_signal_once(hosts_up):
    pid, terminal = in_terminal(*RUN, "python3", "-c", SIGNALS)
    with terminal:
        read_until(terminal, b"ready")
        for _ in range(3):
            terminal.write(b"\x03")
            assert read_until(terminal, b"SIGINT").count(b"SIGINT") == 1
        os.kill(pid, signal.SIGHUP)
        assert b"SIGINT" not in read_until(terminal, b"SIGHUP")
        os.kill(pid, signal.SIGTERM)
        assert b"SIGHUP" not in read_until(terminal, b"SIGTERM")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_shell_has_the_terminal(hosts_up):
    shell = [*RUN, "env", "HISTFILE=/dev/null", "bash", "--norc", "-i"]
    # What comes behind it has the terminal again.
    behind = 'code=$?; read -r word; echo "then $word"; exit $code'
    pid, terminal = in_terminal("sh", "-c", f'"$@"; {behind}', "sh", *shell)
    with terminal:
        terminal.write(b"sleep 601\n")
        wait_until(lambda: ["sleep", "601"] in commands_in(NAME), 20, lambda: "?")
        terminal.write(b"\x03")  # for the one in front
        terminal.write(b"echo $(hostname)-$((6 * 7))\nexit 5\n")
        said = read_until(terminal, b"h0-42")
        assert b"job control" not in said
        terminal.write(b"more\n")
        read_until(terminal, b"then more")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5


@pytest.mark.parametrize("shell", [[], ["sh", "-c", '"$@"; exit', "sh"]])
def test_a_program_ends_with_its_terminal(hosts_up, shell):
    pid, terminal = in_terminal(*shell, *RUN, "sleep", "602")
    with terminal:
        wait_until(lambda: ["sleep", "602"] in commands_in(NAME), 20, lambda: "?")
    # The kernel tells only who leads the session.
    os.waitpid(pid, 0)
    wait_until(lambda: ["sleep", "602"] not in commands_in(NAME), 20, lambda: "?")


# Takes a moment to end, and says whether it had that.
ENDING = """
import signal
seen = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, seen)
print("ready", flush=True)
signal.sigwait(seen)
print("in disorder" if signal.sigtimedwait(seen, 0.5) else "in order", flush=True)
"""


def test_ctrl_c_lets_the_command_of_with_end_by_itself():
    name = f"{NAME}_c"
    words = [LAB, "with", "--hosts", "1", "--name", name, "--"]
    pid, terminal = in_terminal(*words, sys.executable, "-c", ENDING)
    with terminal:
        read_until(terminal, b"ready")
        terminal.write(b"\x03")
        assert b"disorder" not in read_until(terminal, b"order")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGINT
    assert traces(name) == []


def test_a_signal_while_programs_are_started_is_for_all_of_them(hosts_up, tmp_path):
    path = tmp_path / "input"
    path.touch()
    # Who opens a file of which another has a lease waits till that gives it up.
    file = os.open(path, os.O_RDONLY)
    fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    waited_for = lambda: fcntl.fcntl(file, fcntl.F_GETLEASE) != fcntl.F_WRLCK  # noqa: E731
    words = ["python3", "-c", SIGNALS.strip()]
    running = start(NAME, ["-n", "3", "--input", str(path)], *words)
    try:
        wait_until(waited_for, 20, lambda: "no program is started")
        running.send_signal(signal.SIGTERM)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        said = running.communicate(timeout=30)[0]
    finally:
        running.kill()
        os.close(file)
    # Of the program, if it knew of the signal already; else of the signal.
    assert running.returncode in (7, 128 + signal.SIGTERM)
    assert "1: " not in said and words not in commands_in(NAME)
