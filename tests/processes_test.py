"""Real processes: a slice of the conformance suite, other launchers, and what
ranks use while they wait and work."""

import re
import subprocess

import pytest
from ranks import WORKER, expect_done, mpirun, rondo_run


def every_collective(ranks, counts):
    """Steps that call every collective, at these counts and two dtypes."""
    steps = []
    for count in counts:
        for dtype in ("f32", "i64"):
            what = f"{dtype}:{count}"
            steps += [f"allreduce:{what}", f"allgather:{what}", f"allgatherv:{what}"]
            steps += [f"reduce_scatter:{what}", f"all_to_all:{what}"]
            steps += [f"all_to_allv:{what}", f"exchange:{what}", "barrier"]
            for root in {0, ranks - 1}:
                steps += [f"reduce:{what}:{root}", f"broadcast:{what}:{root}"]
                steps += [f"gather:{what}:{root}", f"scatter:{what}:{root}"]
        steps += [f"allreduce:u8:{count}", f"allreduce:f64:{count}", "split:0"]
    return steps


@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_every_collective(transport, ranks, buffers):
    # Zero elements, fewer than ranks, one shot, and many segments.
    steps = every_collective(ranks, [0, 1, ranks + 1, 1000, 300_001])
    done = rondo_run(
        *["-n", ranks, "--", WORKER, "--buffers", buffers, *steps, "transports"],
        env={"RONDO_TRANSPORT": transport},
    )
    expect_done(done, ranks)
    assert f"transports self {transport}" in done.stdout


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("ranks", [3, 4])
def test_every_algorithm(transport, ranks):
    names = ["naive", "star", "tree", "butterfly", "ring"]
    if transport == "shm":
        names.append("direct")
    steps = [f"allreduce:f32:{n}:{a}" for a in names for n in (0, 1, 5, 200_003)]
    for buffers in ("mapped", "foreign"):
        done = rondo_run(
            *["-n", ranks, "--", WORKER, "--buffers", buffers, *steps],
            env={"RONDO_TRANSPORT": transport},
        )
        expect_done(done, ranks)


def test_more_than_2_31_elements(job):
    free = re.search(r"MemAvailable:\s+(\d+)", open("/proc/meminfo").read())
    if int(free[1]) < 7 << 20:
        pytest.skip("needs 7 GiB of memory")
    job.start(2, f"huge:{2**31 + 7}", env={"RONDO_TIMEOUT": 60})
    job.expect_done(seconds=60)


def figures(rank, which):
    found = re.findall(rf"^usage .*\b{which}=([0-9.]+)", rank.text, re.M)
    return [float(number) for number in found]


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_split_leaves_nothing_behind(job, transport):
    job.start(
        2,
        *["cycles:100", "usage", "cycles:10000", "usage"],
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_done(seconds=60)
    for rank in job.ranks:
        before, after = figures(rank, "fds")
        assert after <= before + 4, rank.text
        before, after = figures(rank, "rss")
        assert after - before < 4096, rank.text


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_waiting_costs_little(job, transport):
    calls = ["usage", "barrier", "usage"]
    job.start(
        3,
        *["allreduce:f32:16", *calls],
        each={2: ["allreduce:f32:16", "say:ready", "await", *calls]},
        env={"RONDO_TRANSPORT": transport},
    )
    job.wait_said("ready", [job[2]])
    # The wait is what is measured.
    with pytest.raises(subprocess.TimeoutExpired):
        job[0].process.wait(3)
    job[2].go()
    job.expect_done()
    for rank in job.others(2):
        before, after = figures(rank, "cpu")
        assert after - before < 3 * 0.05, rank.text


@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_memory_beyond_the_buffers(job, transport, buffers):
    count = 24 << 20  # 96 MiB of f32
    # The first one's two vectors of 96 MiB are all that the caller has.
    large = [f"all_to_all:f32:{count // 4}", f"reduce_scatter:f32:{count // 4}"]
    large += [f"allreduce:f32:{count}", f"allreduce:f32:{count}:naive"]
    large += [f"broadcast:f32:{count}:2", f"reduce:f32:{count}:1"]
    job.start(
        4,
        *["--buffers", buffers, *large, "barrier", "usage", "barrier"],
        env={"RONDO_TRANSPORT": transport},
    )
    job.expect_done(seconds=60)
    # A page that several ranks map counts as a share of it in each one's pss, so
    # the sum over the ranks is what the job really holds.
    held = sum(figures(rank, "pss")[0] for rank in job.ranks) / 1024 / 4
    extra = held - 2 * count * 4 / 2**20
    assert 0 < extra < 64, f"{extra:.0f} MiB a rank:\n{job}"


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_under_mpirun(mpi, transport):
    steps = ["allreduce:f32:1000", "transports"]
    done = mpirun(mpi, 3, WORKER, *steps, RONDO_TRANSPORT=transport)
    expect_done(done, 3)
    assert f"transports self {transport} {transport}" in done.stdout
