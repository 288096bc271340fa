"""rondo lab in odd surroundings: who starts it, who reads it, who runs beside it."""

import subprocess
import sys

from labs import LAB


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
