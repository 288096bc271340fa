"""Strangers on a running job's ports, and ranks with the wrong token."""

import contextlib
import os
import re
import resource
import socket
import struct
import time

import pytest
from ports import free_port
from ranks import listening


def visit(address, data, then="close"):
    """Connects, sends `data`, and leaves, resets, or stays (the socket comes back)."""
    s = socket.create_connection(address, timeout=5)
    with contextlib.suppress(OSError):
        s.sendall(data)
    if then == "stay":
        return s
    if then == "reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if then == "read":
        with contextlib.suppress(OSError):
            s.settimeout(0.2)
            s.recv(1 << 16)
    s.close()
    return None


def frames_of_2_60():
    """Beginnings of messages of ours, each with a length that nobody has."""
    for magic in (b"RNDO", b"RONDO", b"rondo", b"rondo1", b"RNDS", b"\x01", b""):
        for order in "<>":
            yield magic + struct.pack(order + "Q", 1 << 60) * 8
            yield magic + struct.pack(order + "IIQQ", 1, 0xFFFFFFFF, 1 << 60, 1 << 60)


VISITS = {
    "scan": [(b"", "close"), (b"", "reset")] * 20,
    "random": [(os.urandom(n), "read") for n in (1, 24, 100, 4096, 1 << 17)],
    "http": [(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "read")],
    "2^60": [(frame, "read") for frame in frames_of_2_60()],
    "half-open": [(b"", "stay")] * 30 + [(b"R", "stay")] * 10,
}


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_the_job_goes_on(job, transport):
    port = free_port()
    job.start(
        3,
        "allreduce:f32:1000",
        "say:ready",
        "await",
        "times:50",
        "allreduce:f32:1000",
        "exchange:f32:100000",  # opens streams that were not there before
        store=f"tcp://127.0.0.1:{port}",
        env={"RONDO_TRANSPORT": transport, "RONDO_TOKEN": "a secret"},
    )
    job.wait_said("ready")
    places = {a for rank in job.ranks for a in listening(rank.pid)}
    assert ("127.0.0.1", port) in places and len(places) >= 4, places
    kept = []
    for address in places:
        for visits in VISITS.values():
            kept += [visit(address, data, then) for data, then in visits]
    for rank in job.ranks:
        rank.go()
    job.expect_done()
    for s in filter(None, kept):
        s.close()


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_more_connections_than_descriptors(job, transport):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 4096:
        pytest.skip("this test itself needs 4096 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    job.start(
        2,
        *["say:ready", "await", "exchange:f32:1000", "allreduce:f32:1000", "split:0"],
        wrap=["prlimit", "--nofile=512"],
        env={"RONDO_TRANSPORT": transport},
    )
    job.wait_said("ready")
    places = [listening(rank.pid)[0] for rank in job.ranks]
    kept = [visit(place, b"", "stay") for place in places for _ in range(700)]
    for rank in job.ranks:
        rank.go()
    job.expect_done()
    for s in kept:
        s.close()


def test_while_the_job_connects(job):
    # Strangers hold the store's port and come before the ranks do.
    port = free_port()
    store = f"tcp://127.0.0.1:{port}"
    job.add(0, 3, ["allreduce:f32:1000"], store=store, env={"RONDO_TOKEN": "s"})
    end = time.monotonic() + 10
    while not (places := listening(job[0].pid)):
        assert time.monotonic() < end
    kept = [visit(a, d, t) for a in places for v in VISITS.values() for d, t in v]
    for number in (1, 2):
        steps = ["allreduce:f32:1000"]
        job.add(number, 3, steps, store=store, env={"RONDO_TOKEN": "s"})
    job.expect_done()
    for s in filter(None, kept):
        s.close()


@pytest.mark.parametrize("store", ["file", "tcp"])
def test_wrong_token(job, store):
    address = f"tcp://127.0.0.1:{free_port()}" if store == "tcp" else None
    for number in range(3):
        token = "another" if number == 1 else "the right one"
        env = {"RONDO_TOKEN": token, "RONDO_CONNECT_TIMEOUT": 2}
        job.add(number, 3, ["barrier"], store=address, env=env)
    job.wait(seconds=10)
    assert job[1].failure.code == "permission", str(job)
    assert "RONDO_TOKEN" in job[1].failure.text, str(job)
    # The others say who is missing, or whom they could not agree with.
    for rank in job.others(1):
        assert rank.failure is not None, str(job)
        assert re.search(r"(rank 1\b|time-out: 1\b)", rank.failure.text), str(job)


def test_wrong_token_on_rank_0(job):
    # The others come to it, and are not let in.
    for number in range(3):
        token = "another" if number == 0 else "the right one"
        env = {"RONDO_TOKEN": token, "RONDO_CONNECT_TIMEOUT": 2}
        job.add(number, 3, ["barrier"], env=env)
    job.expect_failures("permission", r"rank 0 \(", "RONDO_TOKEN", ranks=job.others(0))
    job.expect_failures("time-out", r"rank 1 \(.*rank 2 \(", ranks=[job[0]])


def test_no_token_means_loopback_only(job):
    store = f"tcp://127.0.0.1:{free_port()}"
    job.start(2, "barrier", "say:ready", "await", store=store)
    job.wait_said("ready")
    for rank in job.ranks:
        hosts = {host for host, _ in listening(rank.pid)}
        assert hosts and hosts <= {"127.0.0.1", "::1"}, hosts
