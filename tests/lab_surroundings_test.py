"""rondo lab in odd surroundings: who starts it, who reads it, who runs beside it."""

import os
import signal
import subprocess
import sys

import pytest
from labs import LAB, gone, lab, needs_root

NAME = f"odd_{os.getpid()}"

pytestmark = needs_root


def in_shell(words):
    """A shell's command line, with $LAB for the command, and not for a script that
    starts its Python and would itself take the numbers of closed streams."""
    return subprocess.run(
        ["sh", "-c", words],
        env=dict(os.environ, LAB=f"{sys.executable} -BE {LAB}"),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def name():
    """Of a lab of two hosts."""
    lab("up", "--hosts", "2", "--name", NAME, "--rate", "none")
    try:
        yield NAME
    finally:
        lab("down", "--name", NAME)
    gone(NAME)


def test_output_that_nobody_reads_ends_a_run(name):
    words = ["run", "--name", name, "all", "--", "yes"]
    running = subprocess.Popen(
        [LAB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(20) == 128 + signal.SIGPIPE
    finally:
        running.kill()


@pytest.mark.parametrize("words", ["list", "run --name {} all -- echo said"])
def test_output_that_cannot_be_written_is_said(name, words):
    done = in_shell(f"$LAB {words.format(name)} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "rondo lab: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_programs_run_when_output_is_closed(name, closed, tmp_path):
    program = f"sh -c 'echo said | tee -a {tmp_path}/said'"
    done = in_shell(f"$LAB run --name {name} all -- {program} {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "said").read_text() == "said\n" * 2


def test_complaints_stay_out_of_what_is_said():
    done = in_shell(f"$LAB run --name {NAME}_x h0 -- true 2>&-")
    assert (done.returncode, done.stdout) == (1, "")


def test_tools_that_are_missing_are_named():
    done = in_shell("PATH=/nowhere $LAB list")
    assert done.returncode == 1
    assert ", bash, hostname here; install iproute2" in done.stderr


def test_labs_go_up_for_who_ignores_its_children():
    name = f"{NAME}_i"
    done = in_shell(f"""
        lab="env --ignore-signal=CHLD $LAB"
        $lab up --hosts 1 --name {name}
        for host in h0 all; do
            $lab run --name {name} $host -- sh -c 'exit 3' || echo exit $?
        done
        $lab down --name {name}
    """)
    assert done.stdout.splitlines()[1:] == ["exit 3"] * 2, done.stderr
    assert done.stderr == ""
    gone(name)


def test_a_hang_up_is_ignored_where_the_caller_ignores_it():
    running = subprocess.Popen(
        ["nohup", LAB, "with", "--hosts", "1", "--name", f"{NAME}_h", "--"]
        + ["sh", "-c", "echo up; read word; exit $word"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout.readline() == "up\n"
        running.send_signal(signal.SIGHUP)
        running.communicate("3\n", timeout=20)
        assert running.returncode == 3
    finally:
        running.kill()
    gone(f"{NAME}_h")


def of_processes(script):
    """What a script prints that knows of processes as a lab does."""
    words = [sys.executable, "-B", "-c", script]
    return subprocess.check_output(words, cwd=LAB.parent, text=True, timeout=60)


# Its name is as long as a word of another alphabet that the kernel has cut.
STRANGE = r"""
import os, pathlib, processes

name = pathlib.Path("/proc/self/comm")
known = processes.start_time(os.getpid())
name.write_bytes(b"\xd1) 1 (\xd0")
try:
    again = processes.start_time(os.getpid())
finally:
    name.write_bytes(b"python3")
print(known == again != None)
"""


def test_names_of_processes_may_be_any_bytes():
    assert of_processes(STRANGE) == "True\n"


REUSED = """
import threading, processes

over = threading.Event()
thread = threading.Thread(target=over.wait)
thread.start()
try:
    processes.end(thread.native_id, 1)
finally:
    over.set()
"""


def test_a_dead_holder_may_have_the_number_of_a_thread():
    of_processes(REUSED)
