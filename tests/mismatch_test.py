"""Ranks that call different things: an error on every rank that says both."""

import re

import pytest

# What rank 0 and 1 call, what rank 2 calls instead, and the two as an error
# writes them.
DIFFERENT = {
    "operation": (
        "allreduce:f32:{n}",
        "reduce:f32:{n}:0",
        r"allreduce #\d+ \({n} f32, sum",
        r"reduce #\d+ \({n} f32, sum, root 0\)",
    ),
    "barrier": (
        "allreduce:f32:{n}",
        "barrier",
        r"allreduce #\d+ \({n} f32, sum",
        r"barrier #\d+",
    ),
    "dtype": (
        "allreduce:f32:{n}",
        "allreduce:i32:{n}",
        r"\({n} f32, sum",
        r"\({n} i32, sum",
    ),
    "count": (
        "allreduce:f32:{n}",
        "allreduce:f32:{m}",
        r"\({n} f32, sum",
        r"\({m} f32, sum",
    ),
    "root": (
        "broadcast:f32:{n}:0",
        "broadcast:f32:{n}:1",
        r"broadcast #\d+ \({n} f32, root 0\)",
        r"broadcast #\d+ \({n} f32, root 1\)",
    ),
    "messages": (
        "allgather:f32:{n}",
        "all_to_allv:f32:{n}",
        r"allgather #\d+",
        r"all_to_allv #\d+",
    ),
}


@pytest.mark.parametrize("count", [10, 3_000_000], ids=["small", "large"])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("what", DIFFERENT)
def test_different_arguments(job, what, transport, count):
    words = {"n": count, "m": count + 1}
    most, other, here, there = (text.format(**words) for text in DIFFERENT[what])
    # What was called is known at the latest when the next operation is over.
    job.start(
        3,
        "allreduce:f32:8",
        most,
        "barrier",
        each={2: ["allreduce:f32:8", other, "barrier"]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures(
        "mismatch",
        "ranks called different operations on communicator world",
        r"rank \d called .*rank \d \(\S+, pid \d+\) called ",
        "do: make every rank call the same operations",
    )
    for rank in job.ranks:
        assert re.search(here, rank.failure.text), str(job)
        assert re.search(there, rank.failure.text), str(job)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_different_order(job, transport):
    job.start(
        2,
        *["allreduce:f32:100", "broadcast:i32:50:1"],
        each={1: ["broadcast:i32:50:1", "allreduce:f32:100"]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures("mismatch", r"allreduce #1", r"broadcast #1")
