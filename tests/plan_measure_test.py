"""rondo plan --measure: the links of a job's own hosts, and the plan that follows."""

import getpass
import json
import os
import subprocess
import sys

import pytest
from labs import needs_root
from launches import RONDO, clean_env

HOST = f"{getpass.getuser()}@127.0.0.1"
NAME = f"measure_{os.getpid()}"
MODEL = ["--params", "1M", "--step-time", "0.1"]


def rondo(*words):
    return subprocess.run(
        [RONDO, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=100,
        env=clean_env(),
    )


def lab(*words):
    done = rondo("lab", words[0], "--name", NAME, *words[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def two_hosts():
    """Of a lab, whose links carry 100 Mbit/s."""
    lab("up", "--hosts", 2, "--rate", "100mbit")
    yield
    lab("down")


@needs_root
def test_a_job_measures_its_links(two_hosts, tmp_path):
    # Two ranks on each host; one of them measures.
    file = tmp_path / "plan.json"
    shown = lab(
        "run", "-n", 4, "--", RONDO, "plan", *MODEL, "--measure", "--json", file
    )
    assert {line.split(":")[0] for line in shown.splitlines()} == {"0"}
    assert "Measured between 2 hosts" in shown
    network = json.loads(file.read_text())["network"]
    assert (network["workers"], network["hosts"]) == (4, 2)
    # About 95 % of it; less where the machine is busy.
    assert 0.8 * 12.5e6 < network["link"] < 1.05 * 12.5e6
    assert 0 < network["latency"] < 0.01


@needs_root
def test_racks_of_hosts_that_the_job_names(two_hosts, tmp_path):
    # Of which the options alone would make one host.
    file = tmp_path / "plan.json"
    options = ["--measure", "--gpus-per-host", 8, "--racks", 2, "--json", file]
    lab("run", "-n", 16, "--", RONDO, "plan", "lenet", *options)
    network = json.loads(file.read_text())["network"]
    assert (network["hosts"], network["racks"]) == (2, 2)


@needs_root
def test_other_numbers_with_the_measured_links(two_hosts, tmp_path):
    file = tmp_path / "plan.json"
    options = ["--measure", "--workers", 64, "--gpus-per-host", 8, "--json", file]
    lab("run", "-n", 2, "--", RONDO, "plan", *MODEL, *options)
    network = json.loads(file.read_text())["network"]
    assert (network["workers"], network["hosts"]) == (64, 8)
    assert network["link"] < 20e6


GRAPH = """
import rondo as rd

x = rd.placeholder(rd.float32, [None, 8])
w = rd.Variable(rd.zeros([8, 8]))
rd.train.AdamOptimizer(0.001).minimize(rd.reduce_mean(rd.matmul(x, w)))
rd.train.export_meta_graph("graph.meta")
"""


@needs_root
def test_only_the_first_rank_needs_the_graph(two_hosts, tmp_path):
    subprocess.run([sys.executable, "-c", GRAPH], check=True, timeout=60, cwd=tmp_path)
    script = (
        f'test "$RONDO_RANK" != 0 || cd {tmp_path}; '
        f"exec {RONDO} plan graph.meta --step-time 0.1 --measure"
    )
    shown = lab("run", "-n", 2, "--", "sh", "-c", script)
    assert "Measured between 2 hosts" in shown


def test_hosts_that_are_reached_by_ssh(ssh_command, tmp_path):
    file = tmp_path / "plan.json"
    done = rondo(
        *("plan", *MODEL, "--measure", "--hosts", f"localhost:4,{HOST}:4"),
        *("--ssh-command", ssh_command, "--interface", "lo", "--json", file),
    )
    assert done.returncode == 0, done.stderr
    assert "8 workers on 2 hosts" in done.stdout
    found = json.loads(file.read_text())
    assert found["measured"]["hosts"] == ["localhost", HOST]
    assert found["network"]["link"] == max(found["measured"]["rates"])
    # What the probe says for the plan is not shown.
    assert "latencies" not in done.stdout


def test_a_host_that_cannot_be_reached():
    done = rondo(
        *("plan", *MODEL, "--measure", "--hosts", "localhost,nosuch"),
        *("--ssh-command", "false", "--interface", "lo"),
    )
    assert done.returncode == 1
    assert "nosuch" in done.stderr
    assert "--link and --latency" in done.stderr
    assert done.stdout == ""


def test_one_host_has_no_links():
    done = rondo("run", "-n", 2, "--", RONDO, "plan", *MODEL, "--measure")
    assert done.returncode == 2
    assert "one host" in done.stderr


def test_named_hosts_say_how_many_there_are(tmp_path):
    done = rondo("plan", *MODEL, "--hosts", "a:4,b:4,c:4")
    assert "12 workers on 3 hosts" in done.stdout
    (tmp_path / "hosts").write_text("a slots=4\nb slots=4\n")
    done = rondo("plan", *MODEL, "--hostfile", tmp_path / "hosts", "-n", 6)
    assert "6 workers on 2 hosts" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--measure"], "--hosts a:4,b:4"),
        (["--measure", "--hosts", "4"], "--hosts a:4,b:4"),
        (["--measure", "--hosts", "a"], "two hosts at least"),
        (["--measure", "--hosts", "a,b", "--link", "1gbit"], "leave --link"),
        (["--measure", "--hosts", "a,b", "--latency", "1us"], "leave --link"),
        (["--measure", "--hosts", "a,b", "--straggler", "0"], "--straggler"),
        (["--measure", "--hosts", "a,b", "--ssh-command", ""], "--ssh-command"),
        (["--hosts", "a:0,b"], "--hosts takes a number, or hosts"),
        (["--hosts", "-3"], "--hosts -3"),
        (["--hosts", "a,b", "--hostfile", "x"], "give one"),
        (["--hosts", "a,b", "--workers", "9"], "9"),
        (["--hosts", "a,b", "--workers", "0"], "--workers: "),
        (["--hostfile", "/nosuch"], "/nosuch"),
    ],
)
def test_what_cannot_work_is_explained(options, said):
    done = rondo("plan", *MODEL, *options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert done.stdout == ""
