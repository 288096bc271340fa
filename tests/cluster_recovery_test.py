"""Training that recovers: each kind of process is killed, or stopped, at each stage
of it, and is started anew."""

import os
import pathlib
import signal

import pytest
from ranks import wait_until

STAGES = pytest.mark.parametrize("stage", ["init", "run", "between", "save"])
# After the first checkpoint that is not of the beginning.
LATE = 7


def stop_of(stage):
    """The stops of a worker that the stage wants."""
    return {stage: {"init": 0, "save": LATE}.get(stage, LATE)}


@STAGES
def test_a_parameter_server_killed(training, stage):
    t = training()
    chief = t.start(0, **stop_of(stage))
    other = t.start(1, between=LATE + 5)
    chief.reaches(stage)
    if stage != "init":
        before = t.saved()
    t.kill_server()
    t.start_server()
    chief.go()
    # The other one finds the variables that the chief restored.
    other.go()
    chief.ends()
    other.ends()
    if stage == "init":
        assert chief.began() == [0]
    else:
        assert chief.began() == [0, before]
