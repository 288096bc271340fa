"""Jobs in odd surroundings: little shared memory, few rights, strange names."""

import os
import re
import shlex
import socket
import subprocess

import pytest
from ports import free_port
from ranks import WORKER, clean_env, expect_done, listening, rondo_run

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
CALLS = ["allreduce:f32:16", "allreduce:f32:3000000", "allgather:f32:500000"]


def in_mounts(script, *command):
    """`command` in a mount namespace of its own that `script` has changed."""
    return ["unshare", "-m", "sh", "-ec", script + '\nexec "$@"', "sh", *command]


@AS_ROOT
@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
@pytest.mark.parametrize("shm", ["full", "64m", "readonly"])
def test_dev_shm(shm, buffers):
    mount = {
        "full": "mount -t tmpfs -o size=4k t /dev/shm; head -c 4096 </dev/zero"
        " >/dev/shm/all",
        "64m": "mount -t tmpfs -o size=64m t /dev/shm",
        "readonly": "mount -t tmpfs -o ro t /dev/shm",
    }[shm]
    calls = [*CALLS, "allreduce:f32:30000000", "transports"]
    done = rondo_run(
        *["-n", 2, "--", WORKER, "--buffers", buffers, *calls],
        wrap=in_mounts(mount),
    )
    expect_done(done, 2)
    assert "transports self shm" in done.stdout


def test_no_memfd():
    command = ["-n", 3, "--", "prlimit", "--fsize=0", WORKER]
    for buffers in ("mapped", "foreign"):
        done = rondo_run(*command, "--buffers", buffers, *CALLS, "transports")
        expect_done(done, 3)
        assert "transports self tcp tcp" in done.stdout
    done = rondo_run(*command, "barrier", env={"RONDO_TRANSPORT": "shm"})
    assert re.search("unavailable .*transport shm was asked for", done.stdout), done
    assert "do: use transport auto" in done.stdout


@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
def test_remote_memory_off(buffers):
    calls = [*CALLS, "transports", "broadcast:f32:3000000:1", "gather:f32:400000:1"]
    done = rondo_run(
        *["-n", 3, "--", WORKER, "--buffers", buffers, *calls],
        env={"RONDO_REMOTE_MEMORY": "0"},
    )
    expect_done(done, 3)
    assert "transports self shm shm" in done.stdout


@AS_ROOT
@pytest.mark.parametrize("buffers", ["mapped", "foreign"])
def test_no_rights_on_each_other(buffers):
    # Processes that may not be traced: neither their memory nor their
    # descriptors can be reached.
    user = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    calls = [*CALLS, "transports", "broadcast:f32:3000000:1", "gather:f32:400000:1"]
    done = rondo_run(
        *["-n", 3, "--", *user, WORKER, "--undumpable", "--buffers", buffers, *calls]
    )
    expect_done(done, 3)
    assert "transports self tcp tcp" in done.stdout


NO_PROCESS_VM = """
import ctypes, os, struct, sys
def statement(code, true, false, k): return struct.pack("HBBI", code, true, false, k)
program = b"".join([
    statement(0x20, 0, 0, 0),           # load the system call's number
    statement(0x15, 1, 0, 310),         # process_vm_readv
    statement(0x15, 0, 1, 311),         # process_vm_writev
    statement(0x06, 0, 0, 0x00050001),  # EPERM
    statement(0x06, 0, 0, 0x7fff0000),  # allowed
])
libc = ctypes.CDLL(None, use_errno=True)
held = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("statements", ctypes.c_void_p)]
filter = Filter(5, ctypes.addressof(held))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
def test_process_vm_refused_by_seccomp():
    # As in many containers: descriptors can be opened, memory cannot be read.
    calls = [*CALLS, "transports", "broadcast:f32:3000000:1", "gather:f32:400000:1"]
    worker = [WORKER, "--buffers", "foreign", *calls]
    command = ["-n", 3, "--", "python3", "-c", NO_PROCESS_VM, *worker]
    done = rondo_run(*command)
    expect_done(done, 3)
    assert "transports self shm shm" in done.stdout


def test_twenty_jobs_at_once():
    command = ["-n", 2, "--", WORKER, "times:20", "allreduce:f32:1000", "barrier"]
    jobs = [
        subprocess.Popen(
            [*map(str, [WORKER.parent.parent / "rondo", "run", *command])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean_env(),
        )
        for _ in range(20)
    ]
    for job in jobs:
        said, _ = job.communicate(timeout=60)
        assert job.returncode == 0 and said.count("done") == 2, said


@AS_ROOT
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_hostname_on_127_0_1_1(tmp_path, transport):
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
    mount = f"mount --bind {shlex.quote(str(hosts))} /etc/hosts"
    done = rondo_run(
        *["-n", 3, "--", WORKER, *CALLS],
        wrap=in_mounts(mount),
        env={"RONDO_TRANSPORT": transport},
    )
    expect_done(done, 3)


@AS_ROOT
def test_hostname_that_nobody_knows():
    empty = "for f in hosts resolv.conf; do mount --bind /dev/null /etc/$f; done"
    wrap = in_mounts(empty + "; hostname nowhere-at-all")
    wrap[1] = "-mu"
    expect_done(rondo_run("-n", 2, "--", WORKER, *CALLS, wrap=wrap), 2)


@pytest.mark.parametrize(
    "variables, texts",
    [
        ({"RONDO_RANK": "2"}, ["RONDO_RANK", "2"]),
        ({"RONDO_RANK": "-1"}, ["RONDO_RANK", "-1"]),
        ({"RONDO_RANK": "one"}, ["RONDO_RANK", "one"]),
        ({"RONDO_RANK": "99999999999999999999"}, ["RONDO_RANK", "9999"]),
        ({"RONDO_WORLD_SIZE": "0"}, ["RONDO_WORLD_SIZE", "0"]),
        ({"RONDO_WORLD_SIZE": "-3"}, ["RONDO_WORLD_SIZE", "-3"]),
        ({"RONDO_WORLD_SIZE": "2x"}, ["RONDO_WORLD_SIZE", "2x"]),
        ({"RONDO_WORLD_SIZE": "4294967298"}, ["RONDO_WORLD_SIZE", "4294967298"]),
        ({"RONDO_TIMEOUT": "-1"}, ["RONDO_TIMEOUT", "-1"]),
        ({"RONDO_TRANSPORT": "pigeon"}, ["pigeon", "RONDO_TRANSPORT"]),
        ({"RONDO_ALGORITHM": "magic"}, ["magic", "ring"]),
        ({"RONDO_PORT_RANGE": "80-70"}, ["80-70"]),
        ({"RONDO_INTERFACE": "nope0"}, ["nope0"]),
        ({"RONDO_STORE": "carrier://x"}, ["carrier://x"]),
    ],
)
def test_environment_out_of_range(job, variables, texts):
    env = {"RONDO_RANK": "0", "RONDO_WORLD_SIZE": "2", "RONDO_CONNECT_TIMEOUT": "3"}
    job.add(0, 2, ["barrier"], env={**env, **variables})
    if "RONDO_ALGORITHM" in variables:
        job.add(1, 2, ["barrier"], env=variables)
    job.wait(seconds=10)
    for rank in job.ranks:
        assert rank.failure is not None, str(job)
        assert rank.failure.code in ("invalid argument", "unavailable"), str(job)
        for text in texts:
            assert text in rank.failure.text, str(job)


def test_port_range(job):
    low = free_port()
    done = rondo_run(
        *["-n", 2, "--port-range", f"{low}-{low + 40}", "--"],
        *["sh", "-c", 'echo range=$RONDO_PORT_RANGE; exec "$@"', "sh", WORKER, *CALLS],
    )
    expect_done(done, 2)
    assert f"range={low}-{low + 40}" in done.stdout
    job.start(
        2,
        *[*CALLS, "say:ready", "await"],
        env={"RONDO_PORT_RANGE": f"{low}-{low + 40}", "RONDO_TRANSPORT": "tcp"},
    )
    job.wait_said("ready")
    for rank in job.ranks:
        ports = {port for _, port in listening(rank.pid)}
        assert ports and ports <= set(range(low, low + 41)), ports


def test_port_range_without_a_free_port(job):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        env = {"RONDO_PORT_RANGE": f"{port}-{port}", "RONDO_INTERFACE": "127.0.0.1"}
        job.add(0, 2, ["barrier"], env=env)
        job.expect_failures("resource", f"127.0.0.1:{port}", seconds=5)


def has_ipv6_loopback():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.parametrize(
    "interface, hosts",
    [("lo", {"127.0.0.1", "::1"}), ("127.0.0.0/8", {"127.0.0.1"}), ("::1", {"::1"})],
)
def test_interface(job, interface, hosts):
    if interface == "::1" and not has_ipv6_loopback():
        pytest.skip("there is no ::1 here")
    job.start(
        2,
        *[*CALLS, "say:ready", "await"],
        env={"RONDO_INTERFACE": interface, "RONDO_TRANSPORT": "tcp"},
    )
    job.wait_said("ready")
    for rank in job.ranks:
        found = {host for host, _ in listening(rank.pid)}
        assert found and found <= hosts, found


@AS_ROOT
@pytest.mark.parametrize("interface", ["^left", "right", "10.79.1.0/24"])
def test_one_of_two_networks(interface):
    # A network namespace with two networks.
    net = """
ip link set lo up
ip link add left type veth peer name right
ip address add 10.79.0.1/24 dev left; ip address add 10.79.1.1/24 dev right
ip link set left up; ip link set right up
"""
    wrap = ["unshare", "-n", "sh", "-ec", net + 'exec "$@"', "sh"]
    done = rondo_run(
        *["-n", 2, "--interface", interface, "--", WORKER, *CALLS, "listens"],
        wrap=wrap,
        env={"RONDO_TRANSPORT": "tcp"},
    )
    expect_done(done, 2)
    hosts = set(re.findall(r"listens (\S+):\d+", done.stdout))
    assert hosts == {"10.79.1.1"}, done.stdout


@AS_ROOT
def test_loopback_when_all_else_is_excluded():
    net = """
ip link set lo up
ip link add eth0 type veth peer name other
ip address add 10.79.0.1/24 dev eth0; ip link set eth0 up
"""
    wrap = ["unshare", "-n", "sh", "-ec", net + 'exec "$@"', "sh"]
    done = rondo_run(
        *["-n", 2, "--interface", "^eth0", "--", WORKER, *CALLS, "listens"],
        wrap=wrap,
        env={"RONDO_TRANSPORT": "tcp"},
    )
    expect_done(done, 2)
    hosts = set(re.findall(r"listens (\S+):\d+", done.stdout))
    assert hosts and hosts <= {"127.0.0.1", "[::1]"}, done.stdout


def test_ipv6_alone():
    if not has_ipv6_loopback():
        pytest.skip("there is no ::1 here")
    done = rondo_run(
        *["-n", 3, "--interface", "::1", "--", WORKER, *CALLS, "transports"],
        env={"RONDO_TRANSPORT": "tcp"},
    )
    expect_done(done, 3)
    assert "transports self tcp tcp" in done.stdout
