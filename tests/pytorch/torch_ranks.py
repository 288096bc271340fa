"""Ranks as processes, for the tests of rondo.torch.

They are forked from a server that has imported PyTorch once.
"""

import contextlib
import dataclasses
import datetime
import multiprocessing
import os
import signal
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["torch", "torch.distributed", "rondo.torch"])


@dataclasses.dataclass
class Outcome:
    """How a rank ended: with a value, an exception, or a signal."""

    value: object = None
    error: str = ""  # the exception's class
    text: str = ""
    trace: str = ""

    def check(self):
        assert not self.error, self.trace or self.text
        return self.value


def init(rank, size, folder, timeout=60):
    """What a program's init_process_group("rondo") does."""
    dist.init_process_group(
        "rondo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=datetime.timedelta(seconds=timeout),
    )


def _main(pipe, body, rank, size, folder, timeout, args):
    torch.set_num_threads(1)
    try:
        if timeout:
            init(rank, size, folder, timeout)
        value = body(rank, size, *args)
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()
        outcome = Outcome(value)
    except BaseException as error:
        outcome = Outcome(
            None, type(error).__name__, str(error), traceback.format_exc()
        )
    pipe.send(outcome)
    pipe.close()


class Job:
    """Ranks 0..size-1, each in body(rank, size, *args)."""

    def __init__(self, size, body, *args, timeout=60, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="rondo-torch-")
        self.ranks = []
        for rank in range(size):
            ours, theirs = _CONTEXT.Pipe(False)
            process = _CONTEXT.Process(
                target=_main,
                args=(theirs, body, rank, size, self.folder, timeout, args),
                daemon=True,
            )
            process.start()
            theirs.close()
            self.ranks.append((process, ours))

    def outcomes(self, seconds=90):
        end = time.monotonic() + seconds
        found = []
        for process, pipe in self.ranks:
            if pipe.poll(max(0, end - time.monotonic())):
                try:
                    found.append(pipe.recv())
                except EOFError:
                    process.join(5)
                    found.append(Outcome(None, "died", f"code {process.exitcode}"))
            else:
                found.append(Outcome(None, "hung", f"after {seconds} s"))
        self.end()
        return found

    def kill(self, rank, number=signal.SIGKILL):
        os.kill(self.ranks[rank][0].pid, number)

    def end(self):
        for process, _ in self.ranks:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)


def run(size, body, *args, **options):
    """What each rank's body returned; an exception on any of them is raised."""
    return [outcome.check() for outcome in Job(size, body, *args, **options).outcomes()]


def fail(size, body, *args, **options):
    """The outcomes of a job in which ranks are to fail."""
    return Job(size, body, *args, **options).outcomes()
