"""`rondo run` leaves no process behind, however it ends."""

import os
import signal
import time

import pytest
from launches import (
    STUBBORN,
    alive,
    pids_of,
    python,
    run,
    sh,
    start,
    state_of,
    wait_gone,
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_every_descendant(tmp_path, number):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    begin = time.monotonic()
    job.send_signal(number)
    assert job.wait(10) == 128 + number
    took = time.monotonic() - begin
    assert not any(map(alive, pids))
    assert took < 5
    assert f"received {number.name}" in job.communicate()[1].decode()


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    job.send_signal(signal.SIGINT)
    assert job.stderr.readline().startswith(b"rondo: received SIGINT")
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert time.monotonic() - begin < 2
    assert not any(map(alive, pids))
    job.communicate()


def test_ctrl_c_lets_ranks_end_well():
    job = start(
        "-n",
        2,
        *sh("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"),
    )
    assert sorted([job.stdout.readline(), job.stdout.readline()]) == [
        b"[0] up\n",
        b"[1] up\n",
    ]
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=10)
    assert sorted(out.splitlines()) == [b"[0] saved", b"[1] saved"]
    assert time.monotonic() - begin < 2.5


def test_ranks_do_not_survive_the_launcher(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    job.kill()
    job.wait(5)
    wait_gone(pids, 5)
    job.communicate()


def test_ranks_do_not_survive_the_agent(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    agent = int(state_of(pids[0])[1])
    os.kill(agent, signal.SIGKILL)
    _, err = job.communicate(timeout=15)
    assert job.returncode == 255
    assert b"lost ranks 0, 1 on localhost: rondo was killed by signal 9" in err
    assert not any(map(alive, pids))


def test_what_ranks_leave_behind_is_ended(tmp_path):
    script = f"setsid sleep 300 >/dev/null 2>&1 & echo $! > {tmp_path}/pid"
    assert run("-n", 1, *sh(script)).returncode == 0
    assert not alive(int((tmp_path / "pid").read_text()))
