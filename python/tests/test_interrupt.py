"""Ctrl-C in a call that waits."""

import subprocess
import sys

import pytest

# A thread sends SIGINT once the main thread has been in the line marked "here"
# for a while; the exception and how long it took are printed.
HEAD = """
import os, pathlib, signal, sys, threading, time
import numpy as np, rondo

def strike(line):
    main, seen = threading.main_thread().ident, 0
    while seen < 20:
        frame = sys._current_frames()[main]
        while frame.f_back:
            frame = frame.f_back
        seen = seen + 1 if frame.f_lineno == line else 0
        time.sleep(0.01)
    global struck
    struck = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

def strike_here():
    lines = pathlib.Path(__file__).read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.endswith("# here"))
    threading.Thread(target=strike, args=[line], daemon=True).start()
"""

JOB = (
    HEAD
    + """
comm = rondo.Communicator.world(timeout=30, connect_timeout=60)
flag = pathlib.Path(sys.argv[0]).with_name("interrupted")
x, y = np.ones(SIZE), np.ones(SIZE)
try:
    if comm.rank == 0:
        strike_here()
    if comm.rank == 1:
        while not flag.exists():
            time.sleep(0.01)
    if comm.rank < 2:
        BEFORE
        CALL  # here
    else:
        CALL
    comm.barrier()  # what was whole for a peer before it heard is the last
except KeyboardInterrupt:
    assert time.monotonic() - struck < 1, time.monotonic() - struck
    flag.touch()
    print("interrupted", flush=True)
except rondo.CancelledError as e:
    print(f"peer {comm.rank}:", str(e).splitlines()[0], flush=True)
try:
    comm.barrier()
except rondo.CancelledError as e:
    print(f"after {comm.rank}", flush=True)
"""
)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize(
    ("call", "size", "before"),
    [
        ("comm.allreduce(x)", 3, "pass"),
        ("comm.allreduce(x)", 300_000, "pass"),
        ("comm.allreduce(x)", 3, "work = comm.allreduce_async(y)"),
        ("comm.barrier()", 1, "pass"),
        ("comm.broadcast(x, root=1)", 10, "pass"),
        ("comm.all_to_all(x)", 300_000, "pass"),
        ("comm.recv(x, (comm.rank + 1) % 3)", 10, "pass"),
        ("comm.split(0)", 1, "pass"),
    ],
)
def test_an_operation(job, transport, call, size, before):
    program = JOB.replace("CALL", call).replace("SIZE", str(size))
    program = program.replace("BEFORE", before)
    started = job(3, program, "--env", f"RONDO_TRANSPORT={transport}")
    code, out, err = started.finish()
    assert code == 0, out + err
    assert "interrupted" in out, out + err
    for rank in (1, 2):
        said = [line for line in out.splitlines() if f"peer {rank}:" in line]
        assert len(said) == 1, out + err
        assert "rank 0" in said[0] and ("interrupted" in said[0] or before != "pass")
    assert out.count("after") == 3, out + err


ALONE = (
    HEAD
    + """
class Slow:
    def set(self, key, value): pass
    def add(self, key, amount): return 1
    def remove(self, key): pass
    def get(self, key, timeout): threading.Event().wait(30)

PREPARE
strike_here()
try:
    CALL  # here
except KeyboardInterrupt:
    assert time.monotonic() - struck < 1, time.monotonic() - struck
    print("interrupted", flush=True)
# And the interpreter goes on.
with rondo.Communicator.connect(rondo.MemoryStore(), 0, 1) as comm:
    assert comm.allreduce(np.ones(2)).tolist() == [1, 1]
print("done", flush=True)
"""
)


@pytest.mark.parametrize(
    ("prepare", "call"),
    [
        ("s = rondo.MemoryStore()", "s.get('k', 30)"),
        ("s = rondo.FileStore(sys.argv[1])", "s.get('k', 30)"),
        ("s = rondo.TcpStore(sys.argv[2], 0)", "s.get('k', 30)"),
        ("", "rondo.TcpStore(sys.argv[2], 1, timeout=30)"),
        ("s = rondo.MemoryStore()", "rondo.Communicator.connect(s, 0, 2)"),
        ("s = rondo.FileStore(sys.argv[1])", "rondo.Communicator.connect(s, 0, 2)"),
        ("s = rondo.TcpStore(sys.argv[2], 0)", "rondo.Communicator.connect(s, 0, 2)"),
        ("s = Slow()", "rondo.Communicator.connect(s, 0, 2)"),
        (
            "os.environ.update(RONDO_RANK='1', RONDO_WORLD_SIZE='2',"
            " RONDO_STORE=sys.argv[2])",
            "rondo.Communicator.world()",
        ),
    ],
)
def test_a_store_and_connecting(tmp_path, free_url, prepare, call):
    program = tmp_path / "program.py"
    program.write_text(ALONE.replace("PREPARE", prepare).replace("CALL", call))
    out = subprocess.run(
        [sys.executable, program, tmp_path / "store", free_url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.stdout == "interrupted\ndone\n", out.stdout + out.stderr
    assert out.returncode == 0, out.stderr


def test_any_handler_that_raises(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import signal, rondo
class Alarm(Exception): pass
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    rondo.MemoryStore().get("k", 30)
except Alarm:
    print("rang")
"""
    )
    out = subprocess.run([sys.executable, program], capture_output=True, timeout=60)
    assert out.stdout == b"rang\n", out.stderr
