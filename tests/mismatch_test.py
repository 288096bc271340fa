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


# Nothing follows: a rank that has only to send may not be content with that.
@pytest.mark.parametrize("count", [10, 100_000], ids=["small", "large"])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("what", ["broadcast", "reduce", "gather", "scatter"])
def test_different_roots_at_the_end(job, what, transport, count):
    job.start(
        2,
        f"{what}:f32:{count}:0",
        each={1: [f"{what}:f32:{count}:1"]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures("mismatch", rf"{what} #1 .*root 0", rf"{what} #1 .*root 1")


# Rank 1 agrees with rank 0, and may be content and gone before the other two
# find out that they do not.
@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("what", ["broadcast", "reduce", "gather", "scatter"])
def test_another_root_on_one_of_three(job, what, transport):
    job.start(
        3,
        f"{what}:f32:10:0",
        each={2: [f"{what}:f32:10:1"]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures(
        "mismatch",
        rf"{what} #1 .*root 0",
        rf"{what} #1 .*root 1",
        ranks=[job[0], job[2]],
        seconds=10,
    )
    job.wait([job[1]])
    assert job[1].failure or job[1].said("done"), str(job)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_everybody_is_the_root(job, transport):
    job.start(
        3,
        each={r: [f"gather:f32:10:{r}"] for r in range(3)},
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_failures("mismatch", r"gather #1 .*root \d.*gather #1 .*root \d")


# Short and long messages take different ways. The sender may be content and gone
# before the receiver looks.
@pytest.mark.parametrize("last", ["barrier", "leave"])
@pytest.mark.parametrize("sizes", [(10, 100_000), (100_000, 10)])
@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_a_message_of_another_length(job, transport, sender, sizes, last):
    receiver = 1 - sender
    steps = {
        sender: [f"send:f32:{sizes[0]}:{receiver}", last],
        receiver: [f"recv:f32:{sizes[1]}:{sender}", last],
    }
    job.start(2, each=steps, env={"RONDO_TRANSPORT": transport})
    job.expect_failures(
        "mismatch",
        rf"\({sizes[0]} f32\)",
        rf"\({sizes[1]} f32\)",
        ranks=[job[receiver]] if last == "leave" else None,
        seconds=10,
    )


# The second message is what the first call expects; it may not be taken for it.
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_messages_in_another_order(job, transport):
    steps = {
        0: ["send:f32:10:1", "send:f32:100000:1", "barrier"],
        1: ["recv:f32:100000:0", "recv:f32:10:0", "barrier"],
    }
    job.start(2, each=steps, env={"RONDO_TRANSPORT": transport})
    job.expect_failures("mismatch", "100000", "10 f32|after another message")
