"""`rondo run --host-discovery-script`: ranks that are added to a job that runs."""

import signal

import pytest
from launches import run, sh, start, wait_gone, wait_until


class Hosts:
    """A discovery script that prints what the test has written."""

    def __init__(self, folder):
        self._list = folder / "hosts"
        self.script = folder / "discover"
        self.script.write_text(f"#!/bin/sh\ncat '{self._list}'\n")
        self.script.chmod(0o755)
        self.asked = folder / "asked"

    def say(self, text):
        other = self._list.with_suffix(".new")
        other.write_text(text)
        other.rename(self._list)  # at once

    def count_asking(self):
        with self.script.open("a") as file:
            file.write(f"echo >> '{self.asked}'\n")

    def do(self, text):
        """Another script, from now on."""
        other = self.script.with_suffix(".new")
        other.write_text(f"#!/bin/sh\n{text}\n")
        other.chmod(0o755)
        other.rename(self.script)

    def hang(self):
        """So that it does not come to an end."""
        self.do(f"sleep 1000 & echo $! $$ >> '{self.asked}'; wait")

    def processes(self):
        """Those of the first time that it hung."""
        wait_until(lambda: self._asked() > 0, 30, "it is not asked")
        return [int(pid) for pid in self.asked.read_text().splitlines()[0].split()]

    def was_asked(self, times):
        before = self._asked()
        wait_until(lambda: self._asked() >= before + times, 30, "it is not asked")

    def _asked(self):
        return len(self.asked.read_text()) if self.asked.exists() else 0


@pytest.fixture
def hosts(tmp_path):
    return Hosts(tmp_path)


# Added ranks say so; the others wait for "go" in the folder.
PROGRAM = """
cd {}
[ "$RONDO_ADDED" ] && touch added$RONDO_RANK
touch began$RONDO_RANK
until [ -e go ]; do sleep 0.02; done
echo "at most $RONDO_MAX_RANKS"
"""


def begins(tmp_path, rank):
    path = tmp_path / f"began{rank}"
    wait_until(path.exists, 30, f"rank {rank} does not begin")


def grow(hosts, tmp_path, *args, program=PROGRAM):
    script = ["--host-discovery-script", hosts.script]
    return start(*script, *args, *sh(program.format(tmp_path)))


def grow_from_one(hosts, tmp_path, *args):
    """A job whose one rank has begun, where there is room for no more."""
    hosts.say("localhost\n")
    job = grow(hosts, tmp_path, *args)
    begins(tmp_path, 0)
    return job


def end(job, tmp_path):
    (tmp_path / "go").touch()
    out, err = job.communicate(timeout=30)
    assert job.returncode == 0, err
    return out.decode(), err.decode()


def test_ranks_are_added_where_there_is_room(hosts, tmp_path):
    hosts.say("localhost:1\n")
    hosts.count_asking()
    job = grow(hosts, tmp_path, "--max-ranks", 3)
    begins(tmp_path, 0)
    hosts.say("localhost:2\n")
    begins(tmp_path, 1)
    hosts.say("localhost:9\n")
    begins(tmp_path, 2)
    hosts.was_asked(2)  # so that there was time for a fourth
    out, err = end(job, tmp_path)
    assert sorted(out.splitlines()) == [f"[{rank}] at most 3" for rank in range(3)]
    assert "rondo: adding rank 1 on localhost\n" in err
    assert [(tmp_path / f"added{rank}").exists() for rank in range(3)] == [
        False,
        True,
        True,
    ]


def test_the_slot_of_a_rank_that_failed_stays_empty(hosts, tmp_path):
    hosts.say("localhost:2\n")
    hosts.count_asking()
    dies = '[ $RONDO_RANK = 1 ] && [ -z "$RONDO_ADDED" ] && kill -9 $$' + PROGRAM
    job = grow(hosts, tmp_path, "--min-ranks", 1, program=dies)
    begins(tmp_path, 0)
    hosts.was_asked(2)
    hosts.say("localhost:3\n")
    begins(tmp_path, 2)
    out, err = end(job, tmp_path)
    assert len(out.splitlines()) == 2
    assert "(Killed); 1 rank goes on (--min-ranks 1)" in err
    assert err.count("adding") == 1


@pytest.fixture
def ssh(tmp_path):
    """Reaches 127.0.0.2, which is this host, when there is a file "reachable"."""
    path = tmp_path / "ssh"
    path.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/reachable ] || exit 255\n"
        'for last; do :; done\nexec sh -c "$last"\n'
    )
    path.chmod(0o755)
    return path


def test_a_host_that_comes_back(hosts, tmp_path, ssh):
    """It cannot be reached at first, which the job outlives."""
    hosts.say("localhost\n127.0.0.2\n")
    hosts.count_asking()
    job = grow(hosts, tmp_path, "-n", 1, "--ssh-command", ssh)
    begins(tmp_path, 0)
    hosts.was_asked(2)
    (tmp_path / "reachable").touch()
    hosts.was_asked(2)  # it stays away while it is listed
    assert not (tmp_path / "began2").exists()
    hosts.say("localhost\n")
    hosts.was_asked(2)
    hosts.say("localhost\n127.0.0.2\n")
    begins(tmp_path, 2)
    out, err = end(job, tmp_path)
    assert sorted(out.splitlines()) == ["[0] at most 4096", "[2] at most 4096"]
    assert "cannot add rank 1 on 127.0.0.2: ssh exited with code 255" in err


def test_a_script_that_fails_is_told_of_once(hosts, tmp_path):
    job = grow_from_one(hosts, tmp_path)
    hosts.do(f"echo >> '{hosts.asked}'\nexit 3")
    hosts.was_asked(3)
    _, err = end(job, tmp_path)
    assert err.count("exited with code 3; the job goes on as it is") == 1, err


def test_no_ranks_are_added_when_one_has_ended(hosts, tmp_path):
    """Nobody asks for hosts any more; one that is being asked is ended."""
    hosts.say("localhost:2\n")
    ends = f"[ $RONDO_RANK = 1 ] && until [ -e {tmp_path}/bye ]; do sleep 0.02; done"
    job = grow(hosts, tmp_path, program=f"{ends} && exit 0{PROGRAM}")
    begins(tmp_path, 0)
    hosts.hang()
    asked = hosts.processes()
    (tmp_path / "bye").touch()
    wait_gone(asked, 30)
    out, err = end(job, tmp_path)
    assert out == "[0] at most 4096\n" and "adding" not in err


def test_a_script_that_hangs(hosts, tmp_path):
    """It is ended, and the job goes on as it is, until there is an answer."""
    job = grow_from_one(hosts, tmp_path, "--host-discovery-timeout", 5)
    hosts.hang()
    wait_gone(hosts.processes(), 30)
    hosts.was_asked(1)  # for a second time
    hosts.do("echo localhost:2")
    begins(tmp_path, 1)
    _, err = end(job, tmp_path)
    assert err.count("did not answer within 5 s and was ended") == 1, err
    assert "the job goes on as it is" in err


def test_what_a_script_leaves_behind(hosts, tmp_path):
    """It is ended, though the job goes on."""
    job = grow_from_one(hosts, tmp_path)
    hosts.do(f"sleep 1000 & echo $! >> '{hosts.asked}'; echo localhost")
    wait_gone(hosts.processes(), 30)
    _, err = end(job, tmp_path)
    assert err == ""


def test_a_job_that_is_ended_while_it_asks_for_hosts(hosts):
    hosts.hang()
    job = start("--host-discovery-script", hosts.script, "--", "true")
    asked = hosts.processes()
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=30)
    assert job.returncode == -signal.SIGINT
    wait_gone(asked, 30)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-n", 2, "--max-ranks", 3], "where are ranks to be added?"),
        (["-n", 3, "--max-ranks", 2, "--host-discovery-script", "x"], "from 3 to 4096"),
        (["--hosts", "a", "--host-discovery-script", "x"], "leave --hosts out"),
        (["--host-discovery-script", "/no/such"], "'/no/such' was not found"),
        (["-n", 1, "--host-discovery-script", ""], "name a program that prints HOST"),
        (["--host-discovery-script", " "], "--host-discovery-script is empty"),
        (["-n", 1, "--host-discovery-timeout", 5], "there is nothing to wait for"),
        (
            ["--host-discovery-script", "x", "--host-discovery-timeout", 0],
            "above 0 and up to 86400",
        ),
        (
            ["--host-discovery-script", "sleep 1000"]
            + ["--host-discovery-timeout", 0.2],
            "'sleep' did not answer within 0.2 s and was ended; it has to print",
        ),
        (["--host-discovery-script", "false"], "'false' exited with code 1"),
        (["-n", 3, "--host-discovery-script", "echo localhost:2"], "only 2 ranks"),
        (
            ["--host-discovery-script", "echo localhost:2", "--servers", 1]
            + ["--strategy", "ps"],
            "parameter servers cannot grow",
        ),
    ],
)
def test_what_cannot_work_is_said(args, message):
    done = run(*args, "--", "true")
    assert done.returncode == 2
    assert message in done.stderr.decode()
