"""rondo lab: hosts that are as separate as machines, and no trace after."""

import json
import os
import signal
import subprocess
import sys

import pytest
from labs import LAB, commands_in, lab, needs_root, start, traces
from ranks import RONDO, wait_until

NAME = f"test_{os.getpid()}"

pytestmark = needs_root

SERVE = """
import socket
server = socket.create_server(
    ("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
print(server.getsockname()[1], flush=True)
server.settimeout(20)
peer, address = server.accept()
peer.settimeout(20)
count = 0
while data := peer.recv(1 << 16):
    count += len(data)
print(address[0], count, flush=True)
"""

SEND = """
import socket, sys, time
size = int(sys.argv[3])
started = time.monotonic()
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as s:
    s.sendall(bytes(size))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
print(time.monotonic() - started)
"""


def on(host, *command, name=NAME, check=True):
    return lab("run", "--name", name, host, "--", *command, check=check)


@pytest.fixture(scope="module")
def hosts():
    lab("up", "--hosts", "3", "--name", NAME, "--rate", "100mbit")
    try:
        rows = json.loads(lab("list", "--json").stdout)
        yield next(row for row in rows if row["name"] == NAME)["addresses"]
    finally:
        lab("down", "--name", NAME)


def test_each_host_has_its_name_and_address(hosts):
    assert on("h2", "hostname").stdout == "h2\n"
    shown = on("all", "sh", "-c", "echo $(hostname) $LAB_INDEX $LAB_ADDRESS")
    assert sorted(shown.stdout.splitlines()) == [
        f"h{i}: h{i} {i} {address}" for i, address in enumerate(hosts)
    ]
    resolved = on("h0", "getent", "hosts", "h1").stdout.split()
    assert resolved == [hosts[1], "h1"]


@pytest.mark.parametrize("target", ["h1", "h1-v6"])
def test_tcp_between_hosts_at_the_rate_of_the_link(hosts, target):
    server = start(NAME, "h1", "python3", "-c", SERVE)
    port = server.stdout.readline().strip()
    size = 2_000_000
    sent = on("h0", "python3", "-c", SEND, target, port, str(size))
    address, count = server.communicate(timeout=20)[0].split()
    assert int(count) == size
    if target == "h1":
        assert address == f"::ffff:{hosts[0]}"
    # 16 Mbit at 100 Mbit/s take 160 ms; unshaped they take a few.
    assert float(sent.stdout) > 0.1


def test_processes_see_their_own_host_only(hosts):
    sleeper = start(NAME, "h0", "sh", "-c", "echo $$; exec sleep 60")
    try:
        pid = sleeper.stdout.readline().strip()
        same = on("h0", "cat", f"/proc/{pid}/comm")
        assert same.stdout == "sleep\n"
        other = on("h1", "cat", f"/proc/{pid}/comm", check=False)
        assert "sleep" not in other.stdout
    finally:
        sleeper.send_signal(signal.SIGTERM)
    assert sleeper.wait(20) == 128 + signal.SIGTERM


def test_shared_memory_files_stay_on_their_host(hosts):
    on("h0", "sh", "-c", "echo x > /dev/shm/lab_test")
    assert on("h0", "cat", "/dev/shm/lab_test").stdout == "x\n"
    assert on("h1", "test", "-e", "/dev/shm/lab_test", check=False).returncode
    assert not os.path.exists("/dev/shm/lab_test")


def test_exit_codes_come_back(hosts):
    assert on("h1", "sh", "-c", "exit 7", check=False).returncode == 7
    failing = 'test "$LAB_INDEX" != 2 || exit 9'
    assert on("all", "sh", "-c", failing, check=False).returncode == 9


def test_up_again_is_the_same_lab_and_another_shape_is_refused(hosts):
    lab("up", "--hosts", "3", "--name", NAME, "--rate", "100mbit")
    lab("up", "--hosts", "3", "--name", NAME, "--rate", "0.1 Gbit/s")
    racks = ["--topology", "racks", "--uplink", "50mbit"]
    other = lab("up", "--hosts", "2", "--name", NAME, *racks, check=False)
    assert other.returncode == 1 and "down" in other.stderr
    for difference in (
        "hosts 3, not 2",
        "rate 100mbit, not 1gbit",
        "topology switch, not racks",
        "uplink none, not 50mbit",
    ):
        assert difference in other.stderr


def test_unknown_host_and_lab_are_named(hosts):
    assert "h0..h2" in on("h3", "true", check=False).stderr
    missing = on("h0", "true", name="nosuch", check=False)
    assert missing.returncode and "nosuch" in missing.stderr


def test_two_labs_at_once_and_down_leaves_nothing(hosts):
    second = f"{NAME}_b"
    lab("up", "--hosts", "1", "--name", second, "--rate", "none")
    try:
        assert traces(second)
        address = on("h0", "sh", "-c", "echo $LAB_ADDRESS", name=second)
        assert address.stdout.strip() not in hosts
        runner = start(second, "h0", "sleep", "60")
        begun = lambda: ["sleep", "60"] in commands_in(second)  # noqa: E731
        wait_until(begun, 20, lambda: str(commands_in(second)))
    finally:
        lab("down", "--name", second)
    runner.communicate(timeout=20)
    assert runner.returncode == 128 + signal.SIGKILL
    assert traces(second) == []
    assert on("h0", "hostname").stdout == "h0\n"
    again = lab("down", "--name", second, check=False)
    assert again.returncode == 1
    assert f"no lab '{second}'" in again.stderr and NAME in again.stderr


def test_with_cleans_up_after_failure_and_signal():
    name = f"{NAME}_w"
    inner = f'"{LAB}" run h0 -- hostname; exit 3'
    made = ["with", "--hosts", "1", "--name", name]
    done = lab(*made, "--", "sh", "-c", inner, check=False)
    assert (done.stdout, done.returncode) == ("h0\n", 3)
    assert traces(name) == []
    running = subprocess.Popen(
        [LAB, *made, "--", "sh", "-c", "echo up; exec sleep 60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "up\n"
    running.terminate()
    assert running.wait(20) == 128 + signal.SIGTERM
    assert traces(name) == []


def test_two_racks_share_the_uplink():
    name = f"{NAME}_r"
    shape = ["--topology", "racks", "--rate", "1gbit", "--uplink", "50mbit"]
    lab("up", "--hosts", "3", "--name", name, *shape)
    try:
        seconds = {}
        # h0 and h1 are in the first rack, h2 in the second.
        for target in ("h1", "h2"):
            server = start(name, target, "python3", "-c", SERVE)
            port = server.stdout.readline().strip()
            send = ["python3", "-c", SEND, target, port, "4000000"]
            seconds[target] = float(on("h0", *send, name=name).stdout)
            assert server.wait(20) == 0
    finally:
        lab("down", "--name", name)
    # 32 Mbit at 50 Mbit/s take 640 ms, but for the burst; at 1 Gbit/s 32.
    assert seconds["h2"] > 0.5
    assert seconds["h1"] < seconds["h2"]
    assert traces(name) == []


# Its modules have names that others have too.
RATES = """
import json, sys
from rates import UsageError, bits_per_second, rate_of

def taken(rate):
    try:
        return bits_per_second(rate_of(rate))
    except UsageError:
        return None

print(json.dumps([taken(rate) for rate in sys.argv[1:]]))
"""


def test_rates_are_read_as_rondo_plan_reads_them(tmp_path):
    file = tmp_path / "plan.json"

    def planned(rate):
        words = ["plan", "--params", "1k", "--workers", "2", "--step-time", "1"]
        words += [f"--link={rate}", "--json", file]
        done = subprocess.run([RONDO, *words], capture_output=True, timeout=60)
        if done.returncode:
            assert done.returncode == 2
            return None
        return 8 * json.loads(file.read_text())["network"]["link"]

    good = ["1gbit", "1Gbit", "1gbit/s", "12.5GB/s", "100 Mbit/s", "1e3kbit", ".5MiB"]
    bad = [
        "+1gbit",
        " 1gbit",
        "1.2.3gbit",
        "..gbit",
        "gbit",
        "1",
        "1gb",
        "-1gbit",
        "0mbit",
        "1 gbit /s",
    ]
    words = [sys.executable, "-B", "-c", RATES, *good, *bad]
    taken = json.loads(subprocess.check_output(words, cwd=LAB.parent, timeout=60))
    for rate, bits in zip(good, taken[: len(good)], strict=True):
        assert bits == pytest.approx(planned(rate)), rate
    for rate, bits in zip(bad, taken[len(good) :], strict=True):
        assert bits is planned(rate) is None, rate


def test_a_job_finds_itself(hosts):
    ranks = on_ranks(4, "sh", "-c", "echo $RONDO_RANK $LAB_HOST $RONDO_LOCAL_RANK")
    assert sorted(ranks.stdout.splitlines()) == [
        "0: 0 h0 0",
        "1: 1 h0 1",
        "2: 2 h1 0",
        "3: 3 h2 0",
    ]
    done = subprocess.run(
        [RONDO, "lab", "run", "--name", NAME, "-n", "3", "--"]
        + [RONDO, "bench", "allreduce", "--sizes", "4K", "--seconds", "0.1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "3 ranks, tcp" in done.stdout


def test_servers_have_hosts_of_their_own():
    name = f"{NAME}_s"
    shape = ["--hosts", "5", "--name", name, "--topology", "racks", "--rate", "none"]
    say = ["sh", "-c", "echo $LAB_HOST $RONDO_WORLD_SIZE $RONDO_SERVERS"]
    done = subprocess.run(
        [RONDO, "lab", "with", *shape, "--", RONDO, "lab", "run", "-n", "3"]
        + ["--servers", "2", "--", *say],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # Three hosts are in the first rack, and each rack gives one of its own.
    ranks = sorted(done.stdout.splitlines())
    assert ranks == ["0: h0 3 2", "1: h1 3 2", "2: h3 3 2"]
    assert traces(name) == []


def test_the_first_rack_has_as_many_hosts_as_it_is_told():
    shape = ["--hosts", "4", "--topology", "racks", "--first-rack", "3"]
    job = [LAB, "run", "-n", "3", "--servers", "1", "--", "printenv", "LAB_HOST"]
    done = lab("with", "--name", f"{NAME}_f", *shape, "--rate", "none", "--", *job)
    # The server is in the first rack, which has two ranks nevertheless.
    assert sorted(done.stdout.splitlines()) == ["0: h0", "1: h1", "2: h3"]


def test_a_host_is_left_for_ranks(hosts):
    done = lab(
        *["run", "--name", NAME, "-n", "1", "--servers", "3", "--", "true"], check=False
    )
    assert done.returncode == 2 and "has to be left" in done.stderr


@pytest.mark.parametrize("ranks", ["0", "4097"])
def test_a_job_has_as_many_ranks_as_rondo_run_takes(hosts, ranks):
    done = lab("run", "--name", NAME, "-n", ranks, "--", "true", check=False)
    own = subprocess.run(
        [RONDO, "run", "-n", ranks, "--", "true"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == own.returncode == 2
    said = f"-n {ranks}: a job has from 1 to 4096 ranks"
    assert said in done.stderr and said in own.stderr


def test_each_rank_reads_the_input_from_its_beginning(hosts, tmp_path):
    file = tmp_path / "input"
    file.write_text("said once\n")
    read = lab("run", "--name", NAME, "-n", "2", "--input", str(file), "--", "cat")
    assert sorted(read.stdout.splitlines()) == ["0: said once", "1: said once"]
    none = lab("run", "--name", NAME, "-n", "2", "--", "cat")
    assert none.stdout == ""


@pytest.mark.parametrize("kind", ["fifo", "pipe", "folder", "null", "missing", ""])
def test_the_input_is_a_file_that_each_rank_can_read(hosts, kind, tmp_path):
    file = tmp_path / "input"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    file = {"pipe": "/dev/stdin", "null": os.devnull, "": ""}.get(kind, file)
    words = [LAB, "run", "--name", NAME, "-n", "2", "--input", file, "--", "cat"]
    done = subprocess.run(words, input="", capture_output=True, text=True, timeout=20)
    if kind == "null":
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 2
    said = "No such file" if kind in ("missing", "") else "into a file"
    assert f"--input {file}: " in done.stderr and said in done.stderr


def test_a_program_that_is_not_there_is_named(hosts):
    for place in (["h0"], ["-n", "2"]):
        done = lab("run", "--name", NAME, *place, "--", "nosuch", check=False)
        assert done.returncode == 127
        assert "'nosuch' was not found" in done.stderr


def test_what_a_program_leaves_behind_is_not_waited_for(hosts):
    lines = "sleep 600 & seq 5000; printf end"
    for place in (["all"], ["-n", "3"]):
        done = lab("run", "--name", NAME, *place, "--", "sh", "-c", lines)
        said = done.stdout.splitlines()
        assert len(said) == 3 * 5001
        assert sum(line.endswith(": end") for line in said) == 3


def test_a_lab_goes_down_while_nobody_reads_what_its_programs_say():
    name = f"{NAME}_y"
    lab("up", "--hosts", "2", "--name", name, "--rate", "none")
    try:
        running = start(name, "all", "yes")
        running.stdout.readline()
    finally:
        lab("down", "--name", name)
    assert running.communicate(timeout=20)[0].endswith(": y\n")
    assert running.returncode == 128 + signal.SIGKILL


def on_ranks(count, *command):
    return lab("run", "--name", NAME, "-n", str(count), "--", *command)


RACKS = ["up", "--hosts", "2", "--topology", "racks"]


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["up", "--hosts", "0"], "1 to 250", 2),
        (["up", "--hosts", "2", "--rate", "fast"], "1gbit", 2),
        (["up", "--hosts", "2", "--rate=-1gbit"], "1gbit", 2),
        (["up", "--hosts", "2", "--rate", "1.2.3gbit"], "'1.2.3gbit' is not like", 2),
        (["up", "--hosts", "2", "--rate", "1bit"], "1kbit to 1tbit", 2),
        ([*RACKS, "--uplink", "..mbit"], "'..mbit' is not like", 2),
        ([*RACKS, "--first-rack", "2"], "each has a host", 2),
        (["up", "--hosts", "2", "--first-rack", "1"], "--topology racks", 2),
        (["up", "--hosts", "2", "--uplink", "1gbit"], "--topology racks", 2),
        (["up", "--hosts", "1", "--topology", "racks"], "two hosts", 2),
        (["with", "--hosts", "1", "--", "nosuch"], "'nosuch' was not found", 127),
        (["run", "--", "true"], "no lab", 1),
        (["run"], "needs a command", 2),
        (["down"], "no lab", 1),
        (["down", "--", "true"], "down takes no command", 2),
        (["list", "--", "true"], "list takes no command", 2),
    ],
)
def test_what_cannot_work_is_explained(arguments, said, code):
    name = ["--name", f"{NAME}_x"] if arguments[0] != "list" else []
    done = lab(*arguments[:1], *name, *arguments[1:], check=False)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert traces(f"{NAME}_x") == []
