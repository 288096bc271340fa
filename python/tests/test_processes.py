"""Ranks as processes under `rondo run`."""

import signal
import subprocess
import sys

import rondo

HEAD = """
import os, signal, sys
import numpy as np, rondo
comm = rondo.Communicator.world(timeout=30, connect_timeout=60)
"""


def test_world(job):
    program = """
x = np.full(1000, comm.rank + 1, np.float32)
y = rondo.full((10, 100), comm.rank + 1)
comm.allreduce(x)
comm.allreduce(y, op="max")
assert (x == 6).all() and (y == 3).all()
assert comm.transport_to((comm.rank + 1) % 3) == "shm"
print("rank", comm.rank, "is done")
"""
    code, out, err = job(3, HEAD + program).finish()
    assert code == 0, err
    for r in range(3):
        assert f"rank {r} is done" in out


def test_ending_without_closing_is_no_loss(job):
    """Rank 0 is gone, and the other two still talk on what it was part of."""
    program = """
import pathlib, threading, time
# Nothing closes it by going out of use: a thread has it until the very end.
threading.Thread(target=lambda c: time.sleep(60), args=[comm], daemon=True).start()
pid = comm.broadcast(np.array([os.getpid()]))[0]
comm.allreduce_async(np.ones(3)).wait()
if comm.rank > 0:
    while pathlib.Path(f"/proc/{pid}").exists():
        time.sleep(0.01)
    other, theirs = 3 - comm.rank, np.empty(1)
    for _ in range(1000):
        comm.sendrecv(np.ones(1), other, theirs, other)
print("rank", comm.rank, "ends")
"""
    code, out, err = job(3, HEAD + program).finish()
    assert code == 0, err
    assert err == ""
    assert out.count("ends") == 3


def test_a_killed_rank(job):
    program = """
comm.barrier()
if comm.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    comm.allreduce(np.ones(3))
except rondo.PeerLostError as e:
    print("lost:", e)
    sys.stdout.flush()
"""
    code, out, err = job(2, HEAD + program).finish()
    assert code != 0
    assert "lost:" in out and "rank 1" in out, out + err


def test_an_exception_ends_the_job(job):
    program = """
if comm.rank == 1:
    raise RuntimeError("rank 1 cannot go on")
comm.allreduce(np.ones(3))
"""
    code, _, err = job(2, HEAD + program).finish()
    assert code == 1
    assert "rank 1 cannot go on" in err


def test_ctrl_c_ends_a_blocked_job(job):
    program = """
print("here")
sys.stdout.flush()
if comm.rank == 1:
    signal.pause()
comm.allreduce(np.ones(3), timeout=60)
"""
    blocked = job(2, HEAD + program)
    assert {blocked.line(), blocked.line()} == {"[0] here", "[1] here"}
    blocked.process.send_signal(signal.SIGINT)
    code, _, _ = blocked.finish(timeout=10)
    assert code != 0


def test_work_wait_notices_ctrl_c():
    program = """
import sys, threading
import numpy as np, rondo
store = rondo.MemoryStore()
def other():
    global peer
    peer = rondo.Communicator.connect(store, 1, 2)
thread = threading.Thread(target=other)
thread.start()
comm = rondo.Communicator.connect(store, 0, 2)
thread.join()
work = comm.allreduce_async(np.ones(3))
try:
    print("waiting", flush=True)
    work.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    work.cancel()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert out == "interrupted\n"
    assert process.returncode == 0


def test_alone_without_a_launcher():
    program = "import rondo; print(rondo.Communicator.world())"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert out.stdout == "<rondo.Communicator world: rank 0 of 1>\n", out.stderr
    assert rondo.__doc__
