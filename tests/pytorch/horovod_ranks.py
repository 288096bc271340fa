"""Ranks that run the checks of a test module, for the tests of Horovod's API.

A check is a function check_...(rank, size) of the module. All checks of a module
run in one job, one after another: starting ranks takes longer than most checks.
"""

import importlib
import os
import sys
import tempfile
import traceback

import rondo.torch as hvd
import torch_ranks

# So that a check that fails on one rank does not keep the others for long.
ENVIRONMENT = {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "60", "RONDO_TIMEOUT": "60"}


def enter(rank, size, folder, **environment):
    """Makes this process a rank, for hvd.init()."""
    os.environ.update(ENVIRONMENT)
    os.environ.update(
        RONDO_RANK=str(rank),
        RONDO_WORLD_SIZE=str(size),
        RONDO_STORE=f"file://{folder}",
        **environment,
    )


def _in_rank(rank, size, body, folder, environment, args):
    enter(rank, size, folder, **environment)
    hvd.init()
    try:
        return body(rank, size, *args)
    finally:
        hvd.shutdown()


def outcomes(size, body, *args, **environment):
    """How each rank's body(rank, size, *args) ended, after hvd.init()."""
    with tempfile.TemporaryDirectory(prefix="rondo-hvd-") as folder:
        job = torch_ranks.Job(
            size, _in_rank, body, folder, environment, args, timeout=0
        )
        return job.outcomes()


def run(size, body, *args, **environment):
    """What each rank's body returned; an exception on any of them is raised."""
    return [outcome.check() for outcome in outcomes(size, body, *args, **environment)]


def names(module):
    return [name for name in vars(sys.modules[module]) if name.startswith("check_")]


def _all(rank, size, module, chosen):
    for i, name in enumerate(chosen):
        try:
            getattr(importlib.import_module(module), name)(rank, size)
            hvd.barrier()
        except BaseException:
            # The others may be at another check by now: this rank leaves them.
            text = f"{name}: {traceback.format_exc()}"
            return dict.fromkeys(chosen[i:], text)
    return {}


class Checks:
    """The checks of a module, run by `size` ranks."""

    def __init__(self, size, module):
        self._outcomes = outcomes(size, _all, module, names(module))

    def verify(self, name):
        for rank, outcome in enumerate(self._outcomes):
            failures = outcome.check()
            assert name not in failures, f"rank {rank}: {failures[name]}"


def raises(kind, text, function, *args, **options):
    """What pytest.raises does, on a rank."""
    try:
        function(*args, **options)
    except kind as error:
        assert text in str(error), str(error)
        return str(error)
    raise AssertionError(f"no {kind.__name__}")
