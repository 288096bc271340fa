"""`rondo run` on other hosts, by a real sshd, and inside other launchers."""

import getpass
import os
import pathlib
import re
import signal
import socket
import time

import pytest
from launches import (
    RONDO,
    STUBBORN,
    alive,
    clean_env,
    pids_of,
    python,
    run,
    sh,
    start,
    variables,
    wait_gone,
)

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
