"""Jobs over several hosts of rondo lab: ring between, shared memory within."""

import json
import os
import re
import subprocess

import pytest
from labs import LAB, lab, needs_root
from processes_test import every_collective, figures
from ranks import wait_until

NAME = f"hosts_{os.getpid()}"

pytestmark = needs_root


@pytest.fixture(scope="module")
def addresses():
    """Of three hosts whose links carry 1 Gbit/s."""
    lab("up", "--hosts", "3", "--name", NAME, "--rate", "1gbit")
    try:
        shown = lab("run", "--name", NAME, "h0", "--", "printenv", "LAB_ADDRESS").stdout
        prefix = shown.strip().rpartition(".")[0]
        yield [f"{prefix}.{i + 1}" for i in range(3)]
    finally:
        lab("down", "--name", NAME)


class Hosts:
    """Starts a job whose rank r is on host places[r]."""

    def __init__(self, job, addresses):
        self.job = job
        self.addresses = addresses
        self.store = f"tcp://{addresses[0]}:29400"

    def start(self, places, *steps, each=None, env=None, wrap=()):
        for number, place in enumerate(places):
            self.job.add(
                number,
                len(places),
                (each or {}).get(number, steps),
                env={"RONDO_TOKEN": "of the lab", **(env or {})},
                wrap=[LAB, "run", "--name", NAME, f"h{place}", "--", *wrap],
                store=self.store,
            )
        return self.job


@pytest.fixture
def hosts(job, addresses):
    return Hosts(job, addresses)


@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
@pytest.mark.parametrize(
    "places", [[0, 0, 1, 1], [0, 0, 1, 1, 2, 2], [0, 0, 1], [0, 1, 0, 1]], ids=str
)
def test_every_collective(hosts, places, buffers):
    algorithms = ["hierarchical", "ring", "butterfly", "tree", "star", "naive"]
    steps = [f"allreduce:f32:{n}:{a}" for a in algorithms for n in (0, 1, 7, 100_003)]
    steps += every_collective(len(places), [0, 1, 1000, 100_001])
    job = hosts.start(places, "--buffers", buffers, *steps, "transports")
    job.expect_done(seconds=60)
    for number, place in enumerate(places):
        expected = ["shm" if p == place else "tcp" for p in places]
        expected[number] = "self"
        assert f"transports {' '.join(expected)}" in job[number].text, str(job)


def test_what_was_sent_before_the_end_arrives(hosts):
    # 8 MiB take 70 ms on the link; the goodbye is much faster.
    job = hosts.start(
        [0, 1, 2],
        *["barrier", "broadcast:f32:2000000:0"],
        each={0: ["barrier", "broadcast:f32:2000000:0"]},
    )
    job.expect_done()


def test_mismatch_within_and_between(hosts):
    job = hosts.start(
        [0, 0, 1, 1],
        *["allreduce:f32:1000:hierarchical", "allreduce:f32:100000", "barrier"],
        each={
            3: [
                *["allreduce:f32:1000:hierarchical", "allreduce:i32:100000"],
                "barrier",
            ]
        },
    )
    job.expect_failures("mismatch", r"100000 f32", r"100000 i32")


def test_killed_on_another_host(hosts):
    job = hosts.start(
        [0, 0, 1, 1],
        *["allreduce:f32:100000", "say:ready", "forever", "allreduce:f32:100000"],
        each={
            3: ["allreduce:f32:100000", "say:ready", "allreduce:f32:100000", "die:9"]
        },
    )
    job.expect_failures("peer lost", r"rank 3 \(h1, pid \d+\)", ranks=job.others(3))


def test_waiting_between_hosts_costs_little(hosts):
    calls = ["usage", "allreduce:f32:100000:hierarchical", "usage"]
    job = hosts.start(
        [0, 0, 1, 1],
        *["allreduce:f32:16", *calls],
        each={3: ["allreduce:f32:16", "say:ready", "await", *calls]},
    )
    job.wait_said("ready", [job[3]])
    wait_until(
        lambda: all(figures(r, "cpu") for r in job.others(3)), 10, lambda: str(job)
    )
    with pytest.raises(subprocess.TimeoutExpired):
        job[0].process.wait(3)
    job[3].go()
    job.expect_done()
    for rank in job.others(3):
        before, after = figures(rank, "cpu")
        assert after - before < 3 * 0.05, str(job)


def test_hostnames_on_127_0_1_1(hosts, tmp_path):
    # As Debian's installer writes it: no host's own name leads to its network.
    names = tmp_path / "hosts"
    names.write_text("127.0.0.1 localhost\n127.0.1.1 h0 h1 h2\n")
    mount = f'mount --bind {names} /etc/hosts && exec "$@"'
    job = hosts.start(
        [0, 1, 2],
        *["allreduce:f32:1000", "transports"],
        wrap=["unshare", "-m", "sh", "-c", mount, "sh"],
    )
    job.expect_done()


def test_interface_of_the_lab(hosts, addresses):
    network = re.sub(r"\d+$", "0/24", addresses[0])
    job = hosts.start(
        [0, 1], "allreduce:f32:1000", "transports", env={"RONDO_INTERFACE": network}
    )
    job.expect_done()


def test_ipv6_between_hosts(hosts):
    listed = json.loads(lab("list", "--json").stdout)
    assert listed, "the lab is up"
    job = hosts.start(
        [0, 1], "allreduce:f32:100000", env={"RONDO_INTERFACE": "fd77::/16"}
    )
    job.expect_done()
