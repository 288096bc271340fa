"""scripts/lab: hosts that are as separate as machines, and no trace after."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

LAB = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "lab"
NAME = f"test_{os.getpid()}"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="network namespaces need root"
)

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


def lab(*arguments, check=True):
    done = subprocess.run([LAB, *arguments], capture_output=True, text=True, timeout=60)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def on(host, *command, name=NAME, check=True):
    return lab("run", "--name", name, host, "--", *command, check=check)


def start(host, *command):
    return subprocess.Popen(
        [LAB, "run", "--name", NAME, host, "--", *command],
        stdout=subprocess.PIPE,
        text=True,
    )


def traces(name):
    """What a lab of this name has left on the machine."""
    left = [str(p) for p in pathlib.Path("/run/netns").glob(f"rondo-{name}-*")]
    left += map(str, pathlib.Path("/run/rondo-lab").glob(name))
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"rondo-lab/{name}/" in (process / "cmdline").read_text():
                left.append(str(process))
        except OSError:
            continue
    return left


@pytest.fixture(scope="module")
def hosts():
    lab("up", "3", "--name", NAME, "--rate", "100mbit")
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
    server = start("h1", "python3", "-c", SERVE)
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
    sleeper = start("h0", "sh", "-c", "echo $$; exec sleep 60")
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
    lab("up", "3", "--name", NAME, "--rate", "100mbit")
    other = lab("up", "2", "--name", NAME, check=False)
    assert other.returncode and "down" in other.stderr


def test_unknown_host_and_lab_are_named(hosts):
    assert "h0..h2" in on("h3", "true", check=False).stderr
    missing = on("h0", "true", name="nosuch", check=False)
    assert missing.returncode and "nosuch" in missing.stderr


def test_two_labs_at_once_and_down_leaves_nothing(hosts):
    second = f"{NAME}_b"
    lab("up", "1", "--name", second, "--rate", "none")
    try:
        assert traces(second)
        address = on("h0", "sh", "-c", "echo $LAB_ADDRESS", name=second)
        assert address.stdout.strip() not in hosts
        runner = subprocess.Popen(
            [LAB, "run", "--name", second, "h0", "--", "sleep", "60"]
        )
    finally:
        lab("down", "--name", second)
    assert runner.wait(20) != 0
    assert traces(second) == []
    assert on("h0", "hostname").stdout == "h0\n"
    lab("down", "--name", second)


def test_with_cleans_up_after_failure_and_signal():
    name = f"{NAME}_w"
    inner = f'"{LAB}" run h0 -- hostname; exit 3'
    done = lab("with", "1", "--name", name, "--", "sh", "-c", inner, check=False)
    assert (done.stdout, done.returncode) == ("h0\n", 3)
    assert traces(name) == []
    running = subprocess.Popen(
        [LAB, "with", "1", "--name", name, "--", "sh", "-c", "echo up; exec sleep 60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "up\n"
    running.terminate()
    assert running.wait(20) == 128 + signal.SIGTERM
    assert traces(name) == []
