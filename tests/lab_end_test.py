"""What was in a lab ends with who has started it, even when that is killed."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from labs import LAB, commands_in, gone, lab, needs_root, traces
from ranks import RONDO, ROOT, wait_until

NAME = f"end_{os.getpid()}"

pytestmark = needs_root


def in_own_run(steps):
    """Runs shell commands where no other lab of this machine is to be seen. Nothing
    of it stays; `left` says what would have, holders by what they wait for."""
    alone = "unshare --mount --pid --fork --kill-child --mount-proc".split()
    left = "left() { echo left: $(ls /run/netns) $(grep -lsx sleep /proc/*/comm); }"
    return subprocess.run(
        [*alone, "sh", "-c", f"mount -t tmpfs lab /run || exit\n{left}\n{steps}"],
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_with_cleans_up_when_it_is_killed():
    name = f"{NAME}_k"
    running = subprocess.Popen(
        [LAB, "with", "--hosts", "1", "--name", name, "--", "sh", "-c"]
        + ["echo $$; exec sleep 60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    inner = running.stdout.readline().strip()
    running.kill()
    running.wait()
    wait_until(lambda: not traces(name), 20, lambda: str(traces(name)))
    wait_until(lambda: not pathlib.Path(f"/proc/{inner}").exists(), 20, lambda: inner)


def test_up_that_is_killed_leaves_nothing():
    name = f"{NAME}_u"
    building = subprocess.Popen([LAB, "up", "--hosts", "100", "--name", name])
    wait_until(lambda: traces(name), 20, lambda: "it does not begin")
    building.kill()
    building.wait()
    wait_until(lambda: not traces(name), 60, lambda: str(traces(name)))


@pytest.mark.parametrize("verb", ["up", "with"])
@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]],
    ids=["SIGINT", "SIGTERM", "both"],
)
def test_what_is_being_built_ends_with_signals_as_often_as_they_come(verb, numbers):
    name = f"{NAME}_{verb}{sum(numbers)}"
    building = subprocess.Popen(
        [LAB, verb, "--hosts", "100", "--name", name]
        + (["--", "sleep", "600"] if verb == "with" else []),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def ended():
        for number in numbers:
            os.killpg(building.pid, number)
        return building.poll() is not None

    wait_until(lambda: traces(name), 20, lambda: "it does not begin")
    wait_until(ended, 60, lambda: str(traces(name)))
    assert building.stderr.read() == ""
    assert building.returncode in [128 + number for number in numbers]
    assert traces(name) == []


def test_a_lab_that_is_half_built_is_none():
    name = f"{NAME}_h"
    building = subprocess.Popen([LAB, "up", "--hosts", "50", "--name", name])
    held = lambda: [t for t in traces(name) if t.startswith("/proc")]  # noqa: E731
    try:
        wait_until(held, 20, lambda: "it does not begin")
        building.send_signal(signal.SIGSTOP)
        for place in (["h49"], ["all"], ["-n", "50"]):
            done = lab("run", "--name", name, *place, "--", "true", check=False)
            assert done.returncode == 1 and "lacks a host" in done.stderr
        assert f"{name}: 50 hosts" in lab("list").stdout
        assert "(broken)" in lab("list").stdout
    finally:
        building.kill()
        building.wait()
    gone(name)


@pytest.mark.parametrize("place", [["h0"], ["all"], ["-n", "2", "--servers", "1"]])
def test_programs_end_with_a_run_that_is_killed(place):
    name = f"{NAME}_r"
    lab("up", "--hosts", "3", "--name", name, "--rate", "none")
    try:
        running = subprocess.Popen(
            [LAB, "run", "--name", name, *place, "--", "sleep", "600"],
            env=dict(os.environ, LAB_RONDO=str(RONDO)),
            stdout=subprocess.PIPE,
        )
        programs = 1 if place == ["h0"] else 3
        # On their hosts; `rondo parameter-server` is where the ranks are not.
        own = (["sleep", "600"], [str(RONDO), "parameter-server"])

        def begun():
            return [words for words in commands_in(name) if words in own]

        wait_until(lambda: len(begun()) == programs, 20, lambda: commands_in(name))
        running.kill()
        running.communicate()
        wait_until(lambda: not commands_in(name), 20, lambda: str(commands_in(name)))
        assert lab("run", "--name", name, "h0", "--", "hostname").stdout == "h0\n"
    finally:
        lab("down", "--name", name)
    gone(name)


def ranks_of(name):
    return [w for w in commands_in(name) if w[:2] == [str(RONDO), "plan"]]


@pytest.mark.parametrize("moment", [traces, ranks_of], ids=["being built", "in use"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_check_that_is_ended_leaves_nothing(tmp_path, moment, number):
    words = ["plan", "lenet", "--workers", "2", "--link", "10mbit", "--check"]
    words += ["--step-time", "0.05", "--methods", "ps 1"]
    planning = subprocess.Popen(
        [RONDO, *words],
        env=dict(os.environ, TMPDIR=str(tmp_path)),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    name = f"plan_{planning.pid}"
    try:
        wait_until(lambda: moment(name), 30, lambda: "it does not begin")
        if number == signal.SIGINT:  # Ctrl-C reaches all that the terminal has
            os.killpg(planning.pid, number)
        else:
            planning.send_signal(number)
        assert planning.wait(20) == -number
    finally:
        planning.kill()
        planning.wait()
    gone(name)
    assert list(tmp_path.iterdir()) == []


def test_a_bench_that_is_killed_leaves_nothing():
    bench = """
from lab_hosts import LabHosts
with LabHosts(2, "none") as hosts:
    print(hosts.name, flush=True)
    hosts.run_job(["sleep", "600"], 600)
"""
    running = subprocess.Popen(
        [sys.executable, "-c", bench],
        env=dict(os.environ, PYTHONPATH=str(ROOT / "bench")),
        stdout=subprocess.PIPE,
        text=True,
    )
    name = running.stdout.readline().strip()
    try:
        begun = lambda: commands_in(name).count(["sleep", "600"])  # noqa: E731
        wait_until(lambda: begun() == 2, 20, lambda: str(commands_in(name)))
    finally:
        running.kill()
        running.communicate()
    gone(name)


def test_all_are_down_also_those_whose_state_is_lost():
    names = [f"{NAME}_l{i}" for i in range(3)]
    # In a /run of its own, so that no other lab of this machine goes down.
    done = in_own_run(f"""
        for lab in {" ".join(names)}; do "{LAB}" up --hosts 1 --name $lab; done
        : > /run/rondo-lab/{names[0]}/state.json
        echo '[]' > /run/rondo-lab/{names[1]}/state.json
        rm -r /run/rondo-lab/{names[2]}
        "{LAB}" down --all --name {names[0]} 2> /dev/null || echo refused
        "{LAB}" down --all
        left
        for lab in {" ".join(names)}; do "{LAB}" down --name $lab; done
    """)
    up = [f"{name}: 1 hosts" for name in names]
    *said, refused, left = done.stdout.splitlines()
    assert [line.split(",")[0] for line in said] == up
    assert (refused, left) == ("refused", "left:"), done.stderr
    for name in names:
        assert f"no lab '{name}'" in done.stderr


def test_who_waits_for_one_that_is_stopped_says_so():
    done = in_own_run(f"""
        "{LAB}" up --hosts 100 --name {NAME}_s & building=$!
        until grep -qs $building /run/rondo-lab.lock; do sleep 0.01; done
        kill -STOP $building
        "{LAB}" up --hosts 1 --name {NAME}_t
        echo exit $? of $building
        kill $building
        kill -CONT $building
        wait $building
        "{LAB}" up --hosts 1 --name {NAME}_t && "{LAB}" down --name {NAME}_t
        left
    """)
    said = done.stdout.splitlines()
    assert said[0].startswith("exit 1 of ") and said[-1] == "left:", done.stderr
    building = said[0].split()[-1]
    assert f"process {building} builds or removes a lab and is stopped" in done.stderr


def test_a_killed_with_leaves_a_lab_that_has_its_name_by_now():
    name = f"{NAME}_n"
    done = in_own_run(f"""
        exec 9<>/run/rondo-lab.lock
        flock 9
        "{LAB}" with --hosts 1 --name {name} -- true & with=$!
        caretaker=
        until grep -qs python /proc/$caretaker/comm; do
            caretaker=$(tr -d " " < /proc/$with/task/$with/children)
        done
        kill -STOP $caretaker
        kill -KILL $with
        flock -u 9
        "{LAB}" up --hosts 1 --name {name}
        kill -CONT $caretaker
        while grep -qs {name} /proc/$caretaker/cmdline; do sleep 0.01; done
        "{LAB}" run --name {name} h0 -- hostname
        "{LAB}" down --name {name}
        left
    """)
    assert done.stdout.splitlines()[-2:] == ["h0", "left:"], done.stderr


@pytest.mark.parametrize("place", [["h0"], ["all"]])
def test_a_lab_goes_down_while_a_run_is_stopped(place):
    name = f"{NAME}_z"
    lab("up", "--hosts", "2", "--name", name, "--rate", "none")
    running = subprocess.Popen(
        [LAB, "run", "--name", name, *place, "--", "sleep", "600"],
        stdout=subprocess.PIPE,
    )
    try:
        count = 1 if place == ["h0"] else 2
        begun = lambda: commands_in(name).count(["sleep", "600"])  # noqa: E731
        wait_until(lambda: begun() == count, 20, lambda: str(commands_in(name)))
        running.send_signal(signal.SIGSTOP)
        lab("down", "--name", name)
        running.communicate(timeout=20)
        assert running.returncode == 128 + signal.SIGKILL
    finally:
        running.kill()
    gone(name)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_with_takes_down_its_lab_when_streams_are_closed(closed, tmp_path):
    name = f"{NAME}_c"
    file = tmp_path / "said"
    words = f"with --hosts 1 --name {name} -- sh -c 'echo $LAB_NAME > {file}'"
    done = subprocess.run(["sh", "-c", f'"{LAB}" {words} {closed}'], timeout=60)
    assert done.returncode == 0
    assert file.read_text() == f"{name}\n"
    gone(name)
