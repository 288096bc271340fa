"""`rondo run` from the outside: real processes, a real sshd, a stand-in srun.

The command under test is $RONDO_BIN, or build/rondo.
"""

import getpass
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_rondo():
    named = os.environ.get("RONDO_BIN")
    path = pathlib.Path(named) if named else ROOT / "build/rondo"
    if path.is_file():
        return str(path.resolve())
    pytest.exit("there is no rondo command; make build, or set RONDO_BIN", 2)


RONDO = find_rondo()


def clean_env(**more):
    """This environment, as if no job were around it."""
    starters = ("RONDO_", "OMPI_", "PMI_", "SLURM_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(starters)}
    return {**env, **more}


def run(*args, timeout=30, **options):
    """Runs `rondo run ARGS` to its end; the output is bytes."""
    options.setdefault("env", clean_env())
    return subprocess.run(
        [RONDO, "run", *map(str, args)],
        capture_output=True,
        timeout=timeout,
        check=False,
        **options,
    )


def start(*args, **options):
    options.setdefault("env", clean_env())
    return subprocess.Popen(
        [RONDO, "run", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        **options,
    )


def sh(script):
    return ["--", "sh", "-c", script]


def python(script):
    return ["--", sys.executable, "-c", script]


def alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds} s: {what}"
        time.sleep(0.01)


def wait_gone(pids, seconds):
    wait_until(
        lambda: not any(map(alive, pids)),
        seconds,
        f"still running: {[p for p in pids if alive(p)]}",
    )


# A rank that ignores SIGTERM, with a child that does too and that has left for
# a session of its own; both pids are written to $PIDS/RANK.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(100)
    os._exit(0)
path = os.environ["PIDS"] + "/" + os.environ["RONDO_RANK"]
with open(path + ".new", "w") as f: f.write(f"{os.getpid()} {child}")
os.rename(path + ".new", path)
time.sleep(100)
"""


def pids_of(folder, ranks):
    files = [folder / str(r) for r in range(ranks)]
    wait_until(
        lambda: all(f.exists() and f.read_text() for f in files),
        20,
        "the ranks have not started",
    )
    return [int(pid) for f in files for pid in f.read_text().split()]


def state_of(pid):
    """The fields of /proc/PID/stat from the state on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def wait_stuck(pids):
    """Until these processes use no more time: every queue is full, they wait."""
    used = {}

    def stuck():
        before = dict(used)
        used.update({pid: state_of(pid)[11:13] for pid in pids})
        time.sleep(0.1)
        return used == before

    wait_until(stuck, 20, "the ranks go on writing")


# --- exit codes and reasons ------------------------------------------------


def test_all_zero_is_zero():
    done = run("-n", 3, *sh("true"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_first_failing_rank_decides():
    # Rank 1 fails; the others follow once it is gone, with another code.
    script = """
[ $RONDO_RANK = 1 ] && { echo one >&2; echo two >&2; printf three >&2; exit 3; }
sleep 0.5; exit 4"""
    done = run("-n", 3, *sh(script))
    assert done.returncode == 3
    lines = done.stderr.decode().splitlines()
    reasons = [line for line in lines if re.match("rondo: rank", line)]
    assert len(reasons) == 1
    assert re.fullmatch(r"rondo: rank 1 \(pid \d+\) exited with code 3", reasons[0])
    tail = lines.index("rondo: the last that rank 1 wrote to stderr:")
    assert lines[tail + 1 :] == ["    one", "    two", "    three"]


def test_first_of_many_that_die_together(tmp_path):
    # While the agent sleeps rank 5 dies, and then the others, who followed it.
    script = "echo $$ > $PIDS/$RONDO_RANK; exec sleep 60"
    job = start("-n", 8, "--env", f"PIDS={tmp_path}", *sh(script))
    pids = pids_of(tmp_path, 8)
    agent = int(state_of(pids[0])[1])
    os.kill(agent, signal.SIGSTOP)
    os.kill(pids[5], signal.SIGKILL)
    wait_gone([pids[5]], 5)
    for rank in (7, 6, 4, 3, 2, 1, 0):
        os.kill(pids[rank], signal.SIGTERM)
    wait_gone(pids, 5)
    os.kill(agent, signal.SIGCONT)
    _, err = job.communicate(timeout=10)
    assert b"rondo: rank 5 " in err, err.decode()
    assert job.returncode == 128 + 9


def test_killed_rank_is_named_with_its_signal():
    done = run("-n", 3, *sh("[ $RONDO_RANK = 2 ] && kill -9 $$; sleep 5; exit 1"))
    assert done.returncode == 137
    reason = rb"rondo: rank 2 \(pid \d+\) was killed by signal 9 \(Killed\)"
    assert re.search(reason, done.stderr)


def test_grace_ends_those_that_go_on():
    begin = time.monotonic()
    done = run("-n", 3, "--grace", 0.3, *sh("[ $RONDO_RANK = 0 ] && exit 9; sleep 60"))
    assert done.returncode == 9
    assert b"ending ranks 1, 2, still running 0.3 s after rank 0" in done.stderr
    assert time.monotonic() - begin < 5


def test_timeout_names_who_is_late():
    script = "[ $RONDO_RANK = 1 ] && exit 0; sleep 60"
    done = run("-n", 4, "--timeout", 1, *sh(script))
    assert done.returncode == 124
    assert b"still running: ranks 0, 2, 3" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-n", "0", "--", "true"], 2, "-n 0"),
        (["-n", "4097", "--", "true"], 2, "from 1 to 4096 ranks"),
        (["-n", "2", "true"], 2, "put -- in front of the program"),
        (["-n", "2"], 2, "no program to run"),
        (["-n", "2", "--"], 2, "no program to run"),
        (["--", "true"], 2, "say how many ranks"),
        (["--hosts", "a:2,b,a", "--", "true"], 2, "'a' is given twice"),
        (["-n", "9", "--hosts", "a:4,b:4", "--", "true"], 2, "only 8 ranks"),
        (["-n", "2", "--", "no-such-program"], 127, "'no-such-program' was not found"),
        (["-n", "2", "--", "./no/such"], 127, "no/such' was not found"),
        (["-n", "2", "--", "/etc/passwd"], 126, "'/etc/passwd' is not executable"),
        (["-n", "2", "--", "/etc/"], 126, "is a directory"),
        (["-n", "2", "--wdir", "/no/such", "--", "true"], 127, "'/no/such'"),
        (["-n", "2", "--env", "NO_SUCH", "--", "true"], 2, "--env NO_SUCH"),
        (["-n", "2", "--port-range", "9-1", "--", "true"], 2, "9-1"),
        (["-n", "2", "--interface", "no0", "--", "true"], 2, "no0"),
    ],
)
def test_what_cannot_work_is_said(args, code, message):
    done = run(*args)
    assert done.returncode == code
    assert message in done.stderr.decode()
    assert done.stdout == b""


def test_a_file_that_is_no_program(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELFnot really")
    path.chmod(0o755)
    done = run("-n", 2, "--", path)
    assert done.returncode == 126
    assert f"cannot execute '{path}'" in done.stderr.decode()


# --- output ----------------------------------------------------------------


def test_lines_carry_their_rank_and_stay_on_their_stream():
    done = run("-n", 2, *sh("echo out; echo err >&2; printf part"))
    assert sorted(done.stdout.splitlines()) == [
        b"[0] out",
        b"[0] part",
        b"[1] out",
        b"[1] part",
    ]
    assert sorted(done.stderr.splitlines()) == [b"[0] err", b"[1] err"]


def test_long_and_binary_lines_stay_whole():
    script = """
import os, sys
rank = int(os.environ["RONDO_RANK"])
line = bytes([rank + 1, 0, 255]) * 350_000
sys.stdout.buffer.write(line + b"\\n" + line)
"""
    done = run("-n", 3, *python(script))
    assert done.returncode == 0
    lines = done.stdout.split(b"\n")
    assert lines.pop() == b""
    expected = [b"[%d] " % r + bytes([r + 1, 0, 255]) * 350_000 for r in range(3)]
    assert sorted(lines) == sorted(expected * 2)


def test_without_prefix_bytes_are_as_written():
    done = run("-n", 1, "--no-prefix", *sh(r"printf 'a\000b\n\nlast'"))
    assert done.stdout == b"a\0b\n\nlast"


def test_slow_reader_loses_nothing_and_holds_the_ranks(tmp_path):
    size = 30_000_000
    script = f"""
import os, sys
with open(os.environ["PIDS"] + "/" + os.environ["RONDO_RANK"], "w") as f:
    f.write(str(os.getpid()))
sys.stdout.write(("x" * 99 + "\\n") * {size // 100})
"""
    job = start("-n", 2, "--no-prefix", "--env", f"PIDS={tmp_path}", *python(script))
    pids = pids_of(tmp_path, 2)
    # What is not read is kept, but not without bound: the ranks wait.
    wait_stuck(pids)
    assert all(map(alive, pids))
    out, _ = job.communicate(timeout=60)
    assert len(out) == 2 * size
    assert set(out.split(b"\n")) == {b"x" * 99, b""}
    assert job.returncode == 0


def test_ctrl_c_while_nobody_reads(tmp_path):
    script = "echo $$ > $PIDS/$RONDO_RANK; exec yes"
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *sh(script))
    wait_stuck(pids_of(tmp_path, 2))
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert time.monotonic() - begin < 5
    job.communicate()


def test_reader_that_leaves_ends_the_job():
    job = start("-n", 2, *sh("yes"))
    assert job.stdout.readline().strip() in (b"[0] y", b"[1] y")
    job.stdout.close()
    assert job.wait(10) == 141
    assert b"nobody reads standard output" in job.stderr.read()
    job.stderr.close()


def on_terminal(env):
    """What two ranks' hello looks like on a terminal."""
    leader, follower = os.openpty()
    with subprocess.Popen(
        [RONDO, "run", "-n", "2", *sh("echo hello")],
        stdout=follower,
        stderr=subprocess.PIPE,
        env=env,
    ) as job:
        os.close(follower)
        output = b""
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:  # the terminal hung up
                break
            if not chunk:
                break
            output += chunk
        os.close(leader)
        assert job.wait(10) == 0
    return sorted(output.split(b"\r\n"))


def test_colour_on_a_terminal_only():
    lines = on_terminal(clean_env(TERM="xterm"))
    coloured = rb"\x1b\[(\d+)m\[([01])\]\x1b\[0m hello"
    found = [re.fullmatch(coloured, line).groups() for line in lines if line]
    assert sorted(rank for _, rank in found) == [b"0", b"1"]
    assert found[0][0] != found[1][0]
    for env in (clean_env(TERM="xterm", NO_COLOR="1"), clean_env(TERM="dumb")):
        assert on_terminal(env) == [b"", b"[0] hello", b"[1] hello"]


# --- environment -----------------------------------------------------------


def variables(output):
    """{rank: {name: value}} of prefixed `env` lines."""
    ranks = {}
    for line in output.decode().splitlines():
        rank, name, value = re.fullmatch(r"\[(\d+)\] (\w+)=(.*)", line).groups()
        ranks.setdefault(int(rank), {})[name] = value
    return ranks


def test_ranks_know_who_they_are():
    ranks = variables(run("-n", 3, *sh("env | grep ^RONDO_")).stdout)
    assert sorted(ranks) == [0, 1, 2]
    for rank, env in ranks.items():
        assert env["RONDO_RANK"] == env["RONDO_LOCAL_RANK"] == str(rank)
        assert env["RONDO_WORLD_SIZE"] == env["RONDO_LOCAL_SIZE"] == "3"
        assert env["RONDO_INTERFACE"] == "lo"
        assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", env["RONDO_STORE"])
        assert re.fullmatch(r"[0-9a-f]{32}", env["RONDO_TOKEN"])
    assert len({env["RONDO_TOKEN"] for env in ranks.values()}) == 1


def test_every_job_has_its_own_token():
    tokens = {run("-n", 1, *sh("echo $RONDO_TOKEN")).stdout for _ in range(3)}
    assert len(tokens) == 3


def test_options_reach_the_ranks(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = run(
        *("-n", 1, "--env", "A=x=y", "--env", "FROM_HERE", "--wdir", tmp_path),
        *("--interface", "127.0.0.0/8", "--port-range", f"{port}-{port}"),
        *sh(
            "echo $A $FROM_HERE $RONDO_INTERFACE $RONDO_PORT_RANGE; pwd; "
            "echo $RONDO_STORE"
        ),
        env=clean_env(FROM_HERE="here"),
    )
    assert done.stdout.decode().splitlines() == [
        f"[0] x=y here 127.0.0.0/8 {port}-{port}",
        f"[0] {tmp_path}",
        f"[0] tcp://127.0.0.1:{port}",
    ]


def test_the_store_answers():
    # The server speaks first: "RNDO" and a nonce.
    script = """
import os, socket
host, port = os.environ["RONDO_STORE"].removeprefix("tcp://").split(":")
with socket.create_connection((host, int(port)), 10) as s:
    print(s.recv(4).decode())
"""
    done = run("-n", 2, *python(script))
    assert sorted(done.stdout.split()) == [b"RNDO", b"RNDO", b"[0]", b"[1]"]


# --- ending everything -----------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_every_descendant(tmp_path, number):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    begin = time.monotonic()
    job.send_signal(number)
    assert job.wait(10) == 128 + number
    took = time.monotonic() - begin
    assert not any(map(alive, pids))
    assert took < 5
    assert f"received {number.name}" in job.communicate()[1].decode()


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    job.send_signal(signal.SIGINT)
    assert job.stderr.readline().startswith(b"rondo: received SIGINT")
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert time.monotonic() - begin < 2
    assert not any(map(alive, pids))
    job.communicate()


def test_ctrl_c_lets_ranks_end_well():
    job = start(
        "-n",
        2,
        *sh("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"),
    )
    assert sorted([job.stdout.readline(), job.stdout.readline()]) == [
        b"[0] up\n",
        b"[1] up\n",
    ]
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=10)
    assert sorted(out.splitlines()) == [b"[0] saved", b"[1] saved"]
    assert time.monotonic() - begin < 2.5


def test_ranks_do_not_survive_the_launcher(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    job.kill()
    job.wait(5)
    wait_gone(pids, 5)
    job.communicate()


def test_ranks_do_not_survive_the_agent(tmp_path):
    job = start("-n", 2, "--env", f"PIDS={tmp_path}", *python(STUBBORN))
    pids = pids_of(tmp_path, 2)
    agent = int(state_of(pids[0])[1])
    os.kill(agent, signal.SIGKILL)
    _, err = job.communicate(timeout=15)
    assert job.returncode == 255
    assert b"lost ranks 0, 1 on localhost: rondo was killed by signal 9" in err
    assert not any(map(alive, pids))


def test_what_ranks_leave_behind_is_ended(tmp_path):
    script = f"setsid sleep 300 >/dev/null 2>&1 & echo $! > {tmp_path}/pid"
    assert run("-n", 1, *sh(script)).returncode == 0
    assert not alive(int((tmp_path / "pid").read_text()))


# --- other hosts -----------------------------------------------------------


HOST = f"{getpass.getuser()}@127.0.0.1"


def test_ssh_runs_ranks_host_by_host(ssh_command, tmp_path):
    done = run(
        *("--hosts", f"localhost:2,{HOST}:2", "--ssh-command", ssh_command),
        *("--env", "FROM_HERE", "--wdir", tmp_path),
        *sh("env | grep -E '^(RONDO_|FROM_|SSH_CONN)'; echo PLACE=$(pwd)"),
        env=clean_env(FROM_HERE="here", RONDO_LOG="info"),
    )
    assert done.returncode == 0, done.stderr.decode()
    ranks = variables(done.stdout)
    assert sorted(ranks) == [0, 1, 2, 3]
    for rank, env in ranks.items():
        assert env["RONDO_RANK"] == str(rank)
        assert env["RONDO_LOCAL_RANK"] == str(rank % 2)
        assert (env["RONDO_WORLD_SIZE"], env["RONDO_LOCAL_SIZE"]) == ("4", "2")
        assert ("SSH_CONNECTION" in env) == (rank >= 2)
        assert env["RONDO_STORE"] == ranks[0]["RONDO_STORE"]
        assert env["RONDO_TOKEN"] == ranks[0]["RONDO_TOKEN"]
        assert (env["FROM_HERE"], env["RONDO_LOG"]) == ("here", "info")
        assert env["PLACE"] == str(tmp_path)


def test_ssh_hostfile_and_limit(ssh_command, tmp_path):
    (tmp_path / "hosts").write_text(f"# mine\n{HOST} slots=3\nlocalhost:3\n")
    done = run(
        *("--hostfile", tmp_path / "hosts", "-n", 4, "--ssh-command", ssh_command),
        *sh("echo ${SSH_CONNECTION:+far}"),
    )
    assert sorted(done.stdout.splitlines()) == [
        b"[0] far",
        b"[1] far",
        b"[2] far",
        b"[3] ",
    ]


def test_ssh_carries_output_and_exit_codes(ssh_command):
    script = """
import os, sys
sys.stdout.buffer.write(bytes(range(256)).replace(b"\\n", b"") * 4000 + b"\\n")
sys.stdout.flush()
sys.stderr.write("no luck")
sys.exit(7 if os.environ["RONDO_RANK"] == "1" else 0)
"""
    # ssh hands on a command line, so the words must survive a shell.
    done = run(
        *("--hosts", f"{HOST}:2", "--ssh-command", ssh_command),
        *python(script),
    )
    assert done.returncode == 7, done.stderr.decode()
    body = bytes(range(256)).replace(b"\n", b"") * 4000
    assert sorted(done.stdout.split(b"\n")) == sorted(
        [b"", b"[0] " + body, b"[1] " + body]
    )
    assert re.search(
        rf"rondo: rank 1 \(pid \d+ on {HOST}\) exited with code 7".encode(),
        done.stderr,
    )


def test_ssh_ranks_reduce_together(ssh_command):
    hello = pathlib.Path(RONDO).parent / "examples" / "hello"
    done = run(
        *("--hosts", f"localhost:2,{HOST}:2", "--ssh-command", ssh_command),
        *("--interface", "lo", "--", hello),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"6 6 6 6" in done.stdout


def test_ssh_token_is_on_no_command_line(ssh_command):
    script = """
import glob, os
token = os.environ["RONDO_TOKEN"].encode()
found = 0
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try: found += token in open(path, "rb").read()
    except OSError: pass
print("found", found)
"""
    done = run("--hosts", HOST, "--ssh-command", ssh_command, *python(script))
    assert done.stdout == b"[0] found 0\n"


def test_ssh_ctrl_c_ends_what_is_there(ssh_command, tmp_path):
    job = start(
        *("--hosts", f"{HOST}:2", "--ssh-command", ssh_command),
        *("--env", f"PIDS={tmp_path}"),
        *python(STUBBORN),
    )
    pids = pids_of(tmp_path, 2)
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert time.monotonic() - begin < 5
    assert not any(map(alive, pids))
    job.communicate()


def test_ssh_launcher_killed_ends_what_is_there(ssh_command, tmp_path):
    job = start(
        *("--hosts", f"{HOST}:2", "--ssh-command", ssh_command),
        *("--env", f"PIDS={tmp_path}"),
        *python(STUBBORN),
    )
    pids = pids_of(tmp_path, 2)
    job.kill()
    job.wait(5)
    wait_gone(pids, 5)
    job.communicate()


def test_ssh_failure_names_the_host():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: refused
        port = closed.getsockname()[1]
        done = run(
            "--hosts", "127.0.0.1:2", "--ssh-command", f"ssh -p {port}", *sh("true")
        )
    assert done.returncode == 255
    err = done.stderr.decode()
    assert "cannot start ranks 0, 1 on 127.0.0.1: ssh exited with code 255" in err
    assert "Connection refused" in err


def test_ssh_without_rondo_there(ssh_command):
    done = run(
        *("--hosts", HOST, "--ssh-command", ssh_command),
        *("--remote-rondo", "/no/such rondo"),
        *sh("true"),
    )
    assert done.returncode == 255
    assert b"is rondo there? --remote-rondo gives its path" in done.stderr


def test_ssh_program_missing_there(ssh_command):
    done = run("--hosts", HOST, "--ssh-command", ssh_command, "--", "no-such-program")
    assert done.returncode == 127
    assert f"on {HOST}: program 'no-such-program' was not found" in (
        done.stderr.decode()
    )


def test_chatty_shell_start_up_does_no_harm(tmp_path):
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho Welcome!\nexec '{RONDO}' remote-agent\n")
    ssh.chmod(0o755)
    done = run(
        "--hosts",
        "elsewhere.invalid:2",
        "--interface",
        "lo",
        "--ssh-command",
        str(ssh),
        *sh("echo hello"),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.splitlines()) == [b"[0] hello", b"[1] hello"]


# --- inside other launchers ------------------------------------------------


@pytest.fixture
def slurm(tmp_path):
    """An allocation of two nodes, with an srun that runs here."""
    srun = tmp_path / "srun"
    srun.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/calls\n'
        "while :; do case $1 in\n"
        "  --nodelist=*) export FAKE_NODE=${1#*=}; shift ;;\n"
        "  -*) shift ;;\n"
        "  *) break ;;\n"
        "esac; done\n"
        'exec "$@"\n'
    )
    srun.chmod(0o755)
    return clean_env(
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        SLURM_JOB_ID="7",
        SLURM_JOB_NODELIST="127.0.0.[1-2]",
        SLURM_TASKS_PER_NODE="2,1",
    )


def test_slurm_allocation_is_used(slurm, tmp_path):
    done = run(*sh("echo $FAKE_NODE $RONDO_LOCAL_RANK/$RONDO_LOCAL_SIZE"), env=slurm)
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.decode().splitlines()) == [
        "[0] 127.0.0.1 0/2",
        "[1] 127.0.0.1 1/2",
        "[2] 127.0.0.2 0/1",
    ]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert all("--nodes=1 --ntasks=1" in call for call in calls)


def test_slurm_allocation_with_fewer_ranks(slurm, tmp_path):
    done = run("-n", 2, *sh("echo $FAKE_NODE"), env=slurm)
    assert done.stdout.count(b"127.0.0.1") == 2
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "rank",
    [
        {"OMPI_COMM_WORLD_RANK": "3"},
        {"PMI_RANK": "3"},
        {"SLURM_PROCID": "3", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
    ],
)
def test_a_rank_of_another_launcher_is_taken(rank):
    # In place: the program has the launcher's pid, output has no prefix.
    job = start(
        "--env",
        "A=1",
        *sh("echo $$ $A ${RONDO_RANK-none}; exit 6"),
        env=clean_env(**rank),
    )
    out, _ = job.communicate(timeout=10)
    assert out.decode().split() == [str(job.pid), "1", "none"]
    assert job.returncode == 6


def test_n_wins_over_another_launcher():
    done = run("-n", 2, *sh("echo $RONDO_RANK"), env=clean_env(PMI_RANK="3"))
    assert sorted(done.stdout.splitlines()) == [b"[0] 0", b"[1] 1"]


def test_help_and_version():
    done = subprocess.run([RONDO, "--version"], capture_output=True, check=True)
    assert re.fullmatch(rb"rondo \d+\.\d+\.\d+\n", done.stdout)
    done = subprocess.run([RONDO, "run", "--help"], capture_output=True, check=True)
    assert b"rondo run [-n N] [OPTIONS] -- PROGRAM ARGS..." in done.stdout
    assert b"remote-agent" not in done.stdout
