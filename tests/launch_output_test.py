"""What ranks write, and how `rondo run` hands it on."""

import os
import re
import signal
import subprocess
import time

from launches import (
    RONDO,
    alive,
    clean_env,
    pids_of,
    python,
    run,
    sh,
    start,
    wait_stuck,
)


def test_lines_carry_their_rank_and_stay_on_their_stream():
    done = run("-n", 2, *sh("echo out; echo err >&2; printf part"))
    assert sorted(done.stdout.splitlines()) == [
        b"[0] out",
        b"[0] part",
        b"[1] out",
        b"[1] part",
    ]
    assert sorted(done.stderr.splitlines()) == [b"[0] err", b"[1] err"]


def test_long_and_binary_lines_stay_whole():
    script = """
import os, sys
rank = int(os.environ["RONDO_RANK"])
line = bytes([rank + 1, 0, 255]) * 350_000
sys.stdout.buffer.write(line + b"\\n" + line)
"""
    done = run("-n", 3, *python(script))
    assert done.returncode == 0
    lines = done.stdout.split(b"\n")
    assert lines.pop() == b""
    expected = [b"[%d] " % r + bytes([r + 1, 0, 255]) * 350_000 for r in range(3)]
    assert sorted(lines) == sorted(expected * 2)


def test_without_prefix_bytes_are_as_written():
    done = run("-n", 1, "--no-prefix", *sh(r"printf 'a\000b\n\nlast'"))
    assert done.stdout == b"a\0b\n\nlast"


def test_slow_reader_loses_nothing_and_holds_the_ranks(tmp_path):
    size = 30_000_000
    script = f"""
import os, sys
with open(os.environ["PIDS"] + "/" + os.environ["RONDO_RANK"], "w") as f:
    f.write(str(os.getpid()))
sys.stdout.write(("x" * 99 + "\\n") * {size // 100})
"""
    job = start("-n", 2, "--no-prefix", "--env", f"PIDS={tmp_path}", *python(script))
    pids = pids_of(tmp_path, 2)
    # What is not read is kept, but not without bound: the ranks wait.
    wait_stuck(pids)
    assert all(map(alive, pids))
    out, _ = job.communicate(timeout=60)
    assert len(out) == 2 * size
    assert set(out.split(b"\n")) == {b"x" * 99, b""}
    assert job.returncode == 0


def test_ctrl_c_while_nobody_reads(tmp_path):
    script = "echo $$ > $PIDS/$RONDO_RANK; exec yes"
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *sh(script))
    wait_stuck(pids_of(tmp_path, 2))
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert time.monotonic() - begin < 5
    job.communicate()


def test_reader_that_leaves_ends_the_job():
    job = start("-n", 2, *sh("yes"))
    assert job.stdout.readline().strip() in (b"[0] y", b"[1] y")
    job.stdout.close()
    assert job.wait(10) == 141
    assert b"nobody reads standard output" in job.stderr.read()
    job.stderr.close()


def on_terminal(env):
    """What two ranks' hello looks like on a terminal."""
    leader, follower = os.openpty()
    with subprocess.Popen(
        [RONDO, "run", "-n", "2", *sh("echo hello")],
        stdout=follower,
        stderr=subprocess.PIPE,
        env=env,
    ) as job:
        os.close(follower)
        output = b""
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:  # the terminal hung up
                break
            if not chunk:
                break
            output += chunk
        os.close(leader)
        assert job.wait(10) == 0
    return sorted(output.split(b"\r\n"))


def test_colour_on_a_terminal_only():
    lines = on_terminal(clean_env(TERM="xterm"))
    coloured = rb"\x1b\[(\d+)m\[([01])\]\x1b\[0m hello"
    found = [re.fullmatch(coloured, line).groups() for line in lines if line]
    assert sorted(rank for _, rank in found) == [b"0", b"1"]
    assert found[0][0] != found[1][0]
    for env in (clean_env(TERM="xterm", NO_COLOR="1"), clean_env(TERM="dumb")):
        assert on_terminal(env) == [b"", b"[0] hello", b"[1] hello"]
