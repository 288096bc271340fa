"""Training that recovers: each kind of process is killed, or stopped, at each stage
of it, and is started anew."""

import os
import pathlib
import signal

import pytest
from ranks import wait_until

# Later than the first checkpoint that is not of the beginning.
LATE = 7
# Steps of a synchronous training in which one worker stands still: another brings
# gradients in its place, and must not come to the end meanwhile.
MANY = 400
STAGES = pytest.mark.parametrize(
    "stop",
    [{"init": 0}, {"run": LATE}, {"between": LATE}, {"save": LATE}],
    ids="-".join,
)


@STAGES
def test_a_parameter_server_killed(training, stop):
    t = training()
    chief, other = t.start(0, **stop), t.start(1, between=LATE + 5)
    chief.reaches(*stop)
    before = t.saved()
    t.kill_server()
    t.start_server()
    # The other one finds the variables that the chief restored.
    other.go()
    chief.go()
    chief.learns()
    other.ends()
    assert chief.restored() == ([] if "init" in stop else [before])


@STAGES
def test_a_chief_killed(training, stop):
    t = training()
    chief, other = t.start(0, **stop), t.start(1)
    chief.reaches(*stop)
    before = t.saved()
    chief.kill()
    again = t.start(0)
    again.learns()
    other.ends()
    assert again.restored() == ([] if "init" in stop else [before])


@pytest.mark.parametrize("stage", ["run", "between"])
def test_a_worker_killed(training, stage):
    """The others do not wait for it."""
    t = training()
    chief, other = t.start(0, between=3), t.start(1, **{stage: 3})
    chief.reaches("between")
    other.reaches(stage)
    other.kill()
    chief.go()
    chief.learns()
    t.start(1).ends()


def test_a_worker_killed_before_the_variables_have_values(training):
    t = training()
    chief, other = t.start(0, init=0), t.start(1)
    chief.reaches("init")
    other.said("not initialised: .*w")
    other.kill()
    again = t.start(1)
    again.said("not initialised: .*w")
    chief.go()
    chief.learns()
    again.learns()


def test_a_backup_worker_killed(training):
    t = training(workers=3, aggregate=2)
    victim = t.start(2, run=3)
    chief, other = t.start(0, between=3), t.start(1)
    victim.reaches("run")
    victim.kill()
    chief.reaches("between")
    chief.go()
    chief.learns()
    other.ends()


@pytest.mark.parametrize("stage", ["run", "between"])
def test_a_worker_killed_that_the_others_wait_for(training, stage):
    t = training(aggregate=2, last=MANY)
    chief, other = t.start(0), t.start(1, **{stage: LATE})
    other.reaches(stage)
    other.kill()
    chief.said("1 of 2 gradients")
    again = t.start(1)
    chief.learns()
    again.learns()
    assert chief.restored() == []


@pytest.mark.parametrize("stage", ["run", "between"])
def test_a_parameter_server_killed_in_synchronous_training(training, stage):
    t = training(aggregate=2, last=MANY)
    chief, other = t.start(0, **{stage: LATE}), t.start(1)
    chief.reaches(stage)
    before = t.saved()
    t.kill_server()
    t.start_server()
    chief.go()
    chief.learns()
    other.ends()
    assert chief.restored() == [before]


@pytest.mark.parametrize("stage", ["run", "between"])
def test_a_chief_killed_in_synchronous_training(training, stage):
    t = training(aggregate=2, last=MANY)
    chief, other = t.start(0, **{stage: LATE + 2}), t.start(1)
    chief.reaches(stage)
    before = t.saved()
    chief.kill()
    other.said("1 of 2 gradients")
    again = t.start(0)
    again.learns()
    other.ends()
    assert again.restored() == [before]


def test_a_worker_stopped(training):
    """The others do not wait for it; afterwards it goes on."""
    t = training()
    chief, other = t.start(0, between=3), t.start(1, run=3)
    chief.reaches("between")
    other.reaches("run")
    other.signal(signal.SIGSTOP)
    chief.go()
    chief.learns()
    other.signal(signal.SIGCONT)
    other.go()
    other.ends()


def test_a_worker_stopped_that_the_others_wait_for(training):
    t = training(aggregate=2)
    chief, other = t.start(0), t.start(1, run=3)
    other.reaches("run")
    other.signal(signal.SIGSTOP)
    chief.said("1 of 2 gradients")
    other.signal(signal.SIGCONT)
    other.go()
    chief.learns()
    other.ends()


def test_a_parameter_server_stopped(training):
    t = training()
    chief = t.start(0, between=LATE)
    chief.reaches("between")
    t.cluster["ps", 0].signal(signal.SIGSTOP)
    chief.go()
    chief.said("has not answered")
    t.cluster["ps", 0].signal(signal.SIGCONT)
    chief.learns()


def written_by(process, folder):
    """Whether the process has a file of this folder open that is not whole."""
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            to = os.readlink(link)
        except OSError:
            continue
        if to.startswith(f"{folder}/") and not to.endswith(".safetensors"):
            return True
    return False


def test_a_chief_killed_while_it_writes_a_checkpoint(training):
    t = training(ballast=10_000_000)
    chief = t.start(0, save=LATE)
    chief.reaches("save")
    before = t.saved()
    chief.go()
    wait_until(lambda: written_by(chief.process, t.checkpoints), 60, lambda: t)
    chief.signal(signal.SIGSTOP)
    assert t.saved() == before
    chief.kill()
    assert t.saved() == before
    again = t.start(0)
    again.learns()
    assert again.restored() == [before]


@pytest.mark.parametrize("who", ["ps", "chief"])
def test_a_supervisor(training, who):
    """It says what was lost; the program, started anew, goes on."""
    t = training(supervisor=True)
    chief = t.start(0, between=LATE)
    chief.reaches("between")
    before = t.saved()
    if who == "ps":
        t.kill_server()
        t.start_server()
        chief.go()
        assert chief.process.wait(60) == 1
        assert "PeerLostError: /job:ps/task:0" in chief.text
    else:
        chief.kill()
    again, other = t.start(0), t.start(1)
    again.learns()
    other.ends()
    assert again.restored() == [before]
