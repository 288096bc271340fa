"""What needs root says so to who has it not."""

import os
import subprocess

import pytest
from labs import traces
from ranks import RONDO

NAME = f"no_root_{os.getpid()}"
# Another user, who may read everything: a checkout may be where others cannot look.
READS = "+dac_override,+dac_read_search"
OTHER = ["setpriv", "--reuid", "65534", "--clear-groups"]
OTHER += ["--inh-caps", READS, "--ambient-caps", READS]
PLAN = ["plan", "--params", "10k", "--workers", "2", "--step-time", "0.01", "--check"]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["lab", "up", "--hosts", "2", "--name", NAME], "sudo rondo lab up --hosts 2"),
        (["lab", "down", "--name", NAME], "sudo rondo lab down"),
        (PLAN, "sudo rondo plan"),
    ],
    ids=["lab up", "lab down", "plan --check"],
)
def test_root_is_asked_for(words, advice):
    unprivileged = OTHER if os.geteuid() == 0 else []
    done = subprocess.run(
        [*unprivileged, RONDO, *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1, done.stderr
    assert "needs root" in done.stderr
    assert advice in done.stderr
    assert "Traceback" not in done.stderr
    assert traces(NAME) == []
