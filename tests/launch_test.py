"""`rondo run` from the outside: exit codes, reasons, and who the ranks are."""

import os
import re
import signal
import socket
import subprocess
import time

import pytest
from launches import (
    RONDO,
    clean_env,
    pids_of,
    python,
    run,
    sh,
    start,
    state_of,
    variables,
    wait_gone,
)


def test_all_zero_is_zero():
    done = run("-n", 3, *sh("true"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_first_failing_rank_decides():
    # Rank 1 fails; the others follow once it is gone, with another code.
    script = """
[ $RONDO_RANK = 1 ] && { echo one >&2; echo two >&2; printf three >&2; exit 3; }
sleep 0.5; exit 4"""
    done = run("-n", 3, *sh(script))
    assert done.returncode == 3
    lines = done.stderr.decode().splitlines()
    reasons = [line for line in lines if re.match("rondo: rank", line)]
    assert len(reasons) == 1
    assert re.fullmatch(r"rondo: rank 1 \(pid \d+\) exited with code 3", reasons[0])
    tail = lines.index("rondo: the last that rank 1 wrote to stderr:")
    assert lines[tail + 1 :] == ["    one", "    two", "    three"]


def test_first_of_many_that_die_together(tmp_path):
    # While the agent sleeps rank 5 dies, and then the others, who followed it.
    script = "echo $$ > $PIDS/$RONDO_RANK; exec sleep 60"
    job = start("-n", 8, "--env", f"PIDS={tmp_path}", *sh(script))
    pids = pids_of(tmp_path, 8)
    agent = int(state_of(pids[0])[1])
    os.kill(agent, signal.SIGSTOP)
    os.kill(pids[5], signal.SIGKILL)
    wait_gone([pids[5]], 5)
    for rank in (7, 6, 4, 3, 2, 1, 0):
        os.kill(pids[rank], signal.SIGTERM)
    wait_gone(pids, 5)
    os.kill(agent, signal.SIGCONT)
    _, err = job.communicate(timeout=10)
    assert b"rondo: rank 5 " in err, err.decode()
    assert job.returncode == 128 + 9


def test_killed_rank_is_named_with_its_signal():
    done = run("-n", 3, *sh("[ $RONDO_RANK = 2 ] && kill -9 $$; sleep 5; exit 1"))
    assert done.returncode == 137
    reason = rb"rondo: rank 2 \(pid \d+\) was killed by signal 9 \(Killed\)"
    assert re.search(reason, done.stderr)


def test_grace_ends_those_that_go_on():
    begin = time.monotonic()
    done = run("-n", 3, "--grace", 0.3, *sh("[ $RONDO_RANK = 0 ] && exit 9; sleep 60"))
    assert done.returncode == 9
    assert b"ending ranks 1, 2, still running 0.3 s after rank 0" in done.stderr
    assert time.monotonic() - begin < 5


def test_those_that_are_left_go_on():
    script = "[ $RONDO_RANK = 0 ] && kill -9 $$; sleep 0.2; echo done"
    done = run("-n", 3, "--grace", 0, "--min-ranks", 2, *sh(script))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [b"[1] done", b"[2] done"]
    assert b"(Killed); 2 ranks go on (--min-ranks 2)" in done.stderr


def test_too_few_are_left():
    script = "[ $RONDO_RANK = 2 ] || exit $((5 + RONDO_RANK)); sleep 60"
    done = run("-n", 3, "--grace", 0.3, "--min-ranks", 2, *sh(script))
    assert done.returncode in (5, 6)  # of whichever failed second
    assert b"2 ranks go on" in done.stderr
    assert b"ending rank 2, still running 0.3 s" in done.stderr


def test_timeout_names_who_is_late():
    script = "[ $RONDO_RANK = 1 ] && exit 0; sleep 60"
    done = run("-n", 4, "--timeout", 1, *sh(script))
    assert done.returncode == 124
    assert b"still running: ranks 0, 2, 3" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-n", "0", "--", "true"], 2, "-n 0"),
        (["-n", "1", "--min-ranks", "-1", "--", "true"], 2, "--min-ranks -1"),
        (["-n", "2", "--min-ranks", "3", "--", "true"], 2, "the job has 2 ranks"),
        (["-n", "4097", "--", "true"], 2, "from 1 to 4096 ranks"),
        (["-n", "2", "true"], 2, "put -- in front of the program"),
        (["-n", "2"], 2, "no program to run"),
        (["-n", "2", "--"], 2, "no program to run"),
        (["--", "true"], 2, "say how many ranks"),
        (["--hosts", "a:2,b,a", "--", "true"], 2, "'a' is given twice"),
        (["-n", "9", "--hosts", "a:4,b:4", "--", "true"], 2, "only 8 ranks"),
        (["-n", "2", "--", "no-such-program"], 127, "'no-such-program' was not found"),
        (["-n", "2", "--", "./no/such"], 127, "no/such' was not found"),
        (["-n", "2", "--", "/etc/passwd"], 126, "'/etc/passwd' is not executable"),
        (["-n", "2", "--", "/etc/"], 126, "is a directory"),
        (["-n", "2", "--wdir", "/no/such", "--", "true"], 127, "'/no/such'"),
        (["-n", "2", "--env", "NO_SUCH", "--", "true"], 2, "--env NO_SUCH"),
        (["-n", "2", "--port-range", "9-1", "--", "true"], 2, "9-1"),
        (["-n", "2", "--interface", "no0", "--", "true"], 2, "no0"),
    ],
)
def test_what_cannot_work_is_said(args, code, message):
    done = run(*args)
    assert done.returncode == code
    assert message in done.stderr.decode()
    assert done.stdout == b""


def test_a_file_that_is_no_program(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELFnot really")
    path.chmod(0o755)
    done = run("-n", 2, "--", path)
    assert done.returncode == 126
    assert f"cannot execute '{path}'" in done.stderr.decode()


def test_ranks_know_who_they_are():
    ranks = variables(run("-n", 3, *sh("env | grep ^RONDO_")).stdout)
    assert sorted(ranks) == [0, 1, 2]
    for rank, env in ranks.items():
        assert env["RONDO_RANK"] == env["RONDO_LOCAL_RANK"] == str(rank)
        assert env["RONDO_WORLD_SIZE"] == env["RONDO_LOCAL_SIZE"] == "3"
        assert env["RONDO_INTERFACE"] == "lo"
        assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", env["RONDO_STORE"])
        assert re.fullmatch(r"[0-9a-f]{32}", env["RONDO_TOKEN"])
    assert len({env["RONDO_TOKEN"] for env in ranks.values()}) == 1


def test_every_job_has_its_own_token():
    tokens = {run("-n", 1, *sh("echo $RONDO_TOKEN")).stdout for _ in range(3)}
    assert len(tokens) == 3


def test_options_reach_the_ranks(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = run(
        *("-n", 1, "--env", "A=x=y", "--env", "FROM_HERE", "--wdir", tmp_path),
        *("--interface", "127.0.0.0/8", "--port-range", f"{port}-{port}"),
        *sh(
            "echo $A $FROM_HERE $RONDO_INTERFACE $RONDO_PORT_RANGE; pwd; "
            "echo $RONDO_STORE"
        ),
        env=clean_env(FROM_HERE="here"),
    )
    assert done.stdout.decode().splitlines() == [
        f"[0] x=y here 127.0.0.0/8 {port}-{port}",
        f"[0] {tmp_path}",
        f"[0] tcp://127.0.0.1:{port}",
    ]


def test_the_store_answers():
    # The server speaks first: "RNDO" and a nonce.
    script = """
import os, socket
host, port = os.environ["RONDO_STORE"].removeprefix("tcp://").split(":")
with socket.create_connection((host, int(port)), 10) as s:
    print(s.recv(4).decode())
"""
    done = run("-n", 2, *python(script))
    assert sorted(done.stdout.split()) == [b"RNDO", b"RNDO", b"[0]", b"[1]"]


def test_help_and_version():
    done = subprocess.run([RONDO, "--version"], capture_output=True, check=True)
    assert re.fullmatch(rb"rondo \d+\.\d+\.\d+\n", done.stdout)
    done = subprocess.run([RONDO, "run", "--help"], capture_output=True, check=True)
    assert b"rondo run [-n N] [OPTIONS] -- PROGRAM ARGS..." in done.stdout
    assert b"remote-agent" not in done.stdout
