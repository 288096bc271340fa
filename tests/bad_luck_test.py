"""Ranks that die, stop, come late, leave or never start: the others say who."""

import signal
import time

import pytest
from ranks import HOST, wait_until

LONG = 16 << 20  # elements of a vector of 64 MiB


def named(rank):
    """How an error names this rank."""
    return rf"rank {rank.number} \({HOST}, pid {rank.pid}\)"


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize(
    "steps",
    [
        ["allreduce:f32:16"],
        ["--buffers", "foreign", "allreduce:f32:16"],
        [f"allreduce:f32:{LONG}"],
        ["--buffers", "foreign", f"allreduce:f32:{LONG}"],
        ["--buffers", "foreign", "broadcast:f32:4000000:1", "allgather:f32:4000000"],
        ["--buffers", "foreign", "reduce:u8:40000000:0"],
    ],
    ids=["small", "small-foreign", "large", "large-foreign", "others", "remote"],
)
def test_killed_in_a_stream(job, transport, steps):
    options = steps[:2] if steps[0].startswith("--") else []
    calls = steps[len(options) :]
    job.start(
        3,
        *options,
        *calls,
        "say:ready",
        "forever",
        *calls,
        env={"RONDO_TRANSPORT": transport},
    )
    job.wait_said("ready")
    victim = job[1]
    # In the middle of one, not at a moment that all have in common.
    time.sleep(0.05)
    begin = time.monotonic()
    victim.signal(signal.SIGKILL)
    others = job.others(1)
    job.expect_failures("peer lost", named(victim), "do: ", ranks=others, seconds=10)
    for rank in others:
        assert rank.failure.when - begin < 1, str(job)
        assert "#" in rank.failure.text  # which call it was


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_killed_while_the_others_wait(job, transport):
    job.start(
        3,
        "allreduce:f32:16",
        "say:ready",
        "barrier",
        each={1: ["allreduce:f32:16", "say:ready", "await"]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.wait_said("ready")
    begin = time.monotonic()
    job[1].signal(signal.SIGKILL)
    job.expect_failures(
        "peer lost", "barrier #2", named(job[1]), ranks=job.others(1), seconds=10
    )
    assert all(r.failure.when - begin < 1 for r in job.others(1)), str(job)


def test_killed_between_calls(job):
    job.start(3, "barrier", "say:ready", "await", "allreduce:f32:16")
    job.wait_said("ready")
    job[2].signal(signal.SIGKILL)
    job[2].process.wait()
    for rank in job.others(2):
        rank.go()
    job.expect_failures("peer lost", named(job[2]), ranks=job.others(2), seconds=5)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("count", [16, LONG], ids=["small", "large"])
def test_stopped(job, transport, count):
    job.start(
        3,
        f"allreduce:f32:{count}",
        "say:ready",
        "forever",
        f"allreduce:f32:{count}",
        env={"RONDO_TRANSPORT": transport, "RONDO_TIMEOUT": 2},
    )
    job.wait_said("ready")
    begin = time.monotonic()
    job[2].signal(signal.SIGSTOP)
    others = job.others(2)
    job.expect_failures(
        "time-out",
        rf"cause: {named(job[2])} does not answer",
        r"allreduce #\d+",
        ranks=others,
        seconds=10,
    )
    # The last call may have begun a moment after the signal was sent.
    assert all(r.failure.when - begin < 3.0 for r in others), str(job)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_stopped_before_the_first_call(job, transport):
    # Over tcp there is no stream to it yet, and none can be opened.
    job.start(
        3,
        *["say:ready", "await", "allreduce:f32:16"],
        env={"RONDO_TRANSPORT": transport, "RONDO_TIMEOUT": 2},
    )
    job.wait_said("ready")
    job[0].signal(signal.SIGSTOP)
    begin = time.monotonic()
    for rank in job.others(0):
        rank.go()
    job.expect_failures(
        "time-out",
        rf"cause: {named(job[0])} does not answer",
        ranks=job.others(0),
        seconds=25,
    )
    assert all(r.failure.when - begin < 3.0 for r in job.others(0)), str(job)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_late(job, transport):
    job.start(
        3,
        "allreduce:f32:16",
        "allreduce:f32:16",
        each={1: ["allreduce:f32:16", "say:ready", "await", "allreduce:f32:16"]},
        env={"RONDO_TRANSPORT": transport, "RONDO_TIMEOUT": 1},
    )
    job.expect_failures(
        "time-out",
        "allreduce #2 on communicator world",
        rf"{named(job[1])} has not called it: its last call was allreduce #1",
        ranks=job.others(1),
        seconds=5,
    )
    # The late one hears of it when it comes, from whoever saw it first.
    job[1].go()
    job.expect_failures("time-out", "has not called it", ranks=[job[1]], seconds=5)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_a_collective_here_and_a_recv_there(job, transport):
    job.start(
        2,
        "allreduce:f32:1000000",
        each={1: ["recv:f32:1000000:0"]},
        env={"RONDO_TRANSPORT": transport, "RONDO_TIMEOUT": 1},
    )
    job.wait(seconds=5)
    for rank in job.ranks:
        assert rank.failure.code in ("mismatch", "time-out"), str(job)
        assert "allreduce #1" in rank.failure.text, str(job)
        assert "send/recv" in rank.failure.text, str(job)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("how", ["leave", "die"])
def test_ends_before_the_others(job, transport, how):
    job.start(
        3,
        "allreduce:f32:16",
        "allreduce:f32:16",
        each={1: ["allreduce:f32:16", how]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures(
        "peer lost", named(job[1]), "allreduce #", ranks=job.others(1), seconds=5
    )


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_what_was_sent_before_the_end_counts(job, transport):
    # Rank 0 is gone before the others have read what it sent.
    job.start(
        3,
        "barrier",
        "await",
        "recv:f32:1000:0",
        each={0: ["barrier", "send:f32:1000:1", "send:f32:1000:2"]},
        env={"RONDO_TRANSPORT": transport},
    )
    wait_until(lambda: job[0].said("done"), 10, lambda: str(job))
    for rank in job.others(0):
        rank.go()
    job.expect_done()


def test_never_starts(job):
    job.start(4, "barrier", skip=[2], env={"RONDO_CONNECT_TIMEOUT": 2})
    begin = time.monotonic()
    job.expect_failures(
        "time-out", r"these did not within the connect time-out: 2\|", "do: ", seconds=8
    )
    assert time.monotonic() - begin < 4, str(job)


def test_split_where_another_does_not(job):
    # Rank 1 gives up after its time-out and stays; nobody waits longer than it.
    job.start(
        3,
        *["--linger", "barrier", "split:0"],
        each={1: ["--linger", "barrier", "allreduce:f32:16"]},
        env={"RONDO_TIMEOUT": 1, "RONDO_CONNECT_TIMEOUT": 20},
    )
    job.wait_said("lingering", seconds=5)
    for rank in job.ranks:
        assert rank.failure.code == "time-out", str(job)
        assert "allreduce #2" in rank.failure.text, str(job)
        assert "has not called it" in rank.failure.text, str(job)


def test_split_where_another_has_left(job):
    job.start(3, "sub", "split:0", each={1: ["sub", "leave", "await"]})
    job.expect_failures(
        "peer lost",
        rf"split .*{named(job[1])} has closed the communicator",
        ranks=job.others(1),
        seconds=5,
    )
