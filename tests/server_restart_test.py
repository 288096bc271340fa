"""Parameter servers of a job that are killed and started again: no update is lost or
made twice, so losses are those of a job that nobody disturbed."""

import os
import re
import signal
import sys

import pytest
from ranks import rondo_run
from served_jobs import ServedJob, servers_of
from trainings import Training, curve

# Dense weights and rows of a table, with what Adam keeps. Behind some steps rank 0
# waits until the test has killed somebody, so that this is never too late; the other
# rank's next push is under way meanwhile.
PROGRAM = """
import os, pathlib, sys, time
import numpy as np
import rondo as rd
from rondo import models

folder, gates = pathlib.Path(sys.argv[1]), [int(g) for g in sys.argv[2:]]
rd.set_random_seed(1)
x = rd.placeholder(rd.int64, [None, 5])
y = rd.placeholder(rd.int64, [None])
table = rd.get_variable("table", [500, 8])
hidden = rd.reduce_mean(rd.gather(table, x), 1)
for _ in range(3):
    hidden = rd.layers.dense(hidden, 16)
logits = rd.layers.dense(hidden, 10)
loss = models.loss(y, logits)
if os.environ["RONDO_STRATEGY"] == "hybrid":  # several buckets with servers at once
    strategy = rd.train.Hybrid(1, 1, server_share=0.5, factors=False)
else:
    strategy = rd.train.Strategy.from_env()
opt = strategy.distribute(rd.train.AdamOptimizer(0.01))
train_op = opt.minimize(loss)
random = np.random.default_rng(strategy.rank)
try:
    with rd.train.MonitoredTrainingSession() as session:
        for step in range(60):
            labels = random.integers(0, 10, 16)
            words = 50 * labels[:, None] + random.integers(0, 50, (16, 5))
            now, _ = session.run([loss, train_op], {x: words, y: labels})
            if strategy.rank == 0:
                print(f"step {step}: loss {now:.7g}", flush=True)
            while strategy.rank == 0 and step in gates:
                if (folder / f"go{step}").exists():
                    break
                time.sleep(0.01)
except rd.Error as e:
    print("failed", type(e).__name__, e, flush=True)
    sys.exit(3)
"""


class Job(ServedJob):
    """Two ranks and two servers. `gates` are steps behind which it waits."""

    def __init__(self, folder, strategy, *options, gates=()):
        folder.mkdir()
        self._folder, self._logs = folder, folder / "logs"
        self._logs.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        words = ["--", sys.executable, folder / "program.py", folder, *gates]
        env = {"TMPDIR": str(self._logs)}
        super().__init__(folder, 2, strategy, *options, *words, **env)

    def losses(self):
        return re.findall(r"^step \d+: loss (\S+)$", self.text, re.M)

    def wait_for_step(self, step):
        self.wait_for(
            lambda: f"step {step}:" in self.text or self.process.poll() is not None
        )
        assert self.process.poll() is None, self.text

    def pass_gate(self, step):
        (self._folder / f"go{step}").touch()

    def logs(self):
        return list(self._logs.glob("rondo-servers-*/server-*/log-*"))

    def leftovers(self):
        return list(self._logs.iterdir())


@pytest.mark.parametrize("strategy", ["ps", "hybrid"])
def test_killed_servers_come_back_and_the_losses_are_the_same(tmp_path, strategy):
    with Job(tmp_path / "calm", strategy) as calm:
        assert calm.process.wait(100) == 0, calm.text
    assert len(calm.losses()) == 60
    options = ["--restart-servers", 2]
    with Job(tmp_path / "job", strategy, *options, gates=[15, 30, 45]) as job:
        job.wait_for_step(5)
        before = job.servers()
        os.kill(before[0], signal.SIGKILL)  # within some step
        job.wait_for_step(15)
        # One of them has a second: it may have been killed behind step 15.
        job.wait_for(lambda: len(job.logs()) >= 3)
        job.pass_gate(15)
        job.wait_for_step(30)
        again = job.servers()
        assert len(again) == 2 and before[0] not in again
        for pid in again:  # both at once, between two steps of rank 0
            os.kill(pid, signal.SIGKILL)
        job.pass_gate(30)
        job.wait_for_step(45)
        job.pass_gate(45)
        assert job.process.wait(100) == 0, job.text
    assert job.losses() == calm.losses()
    said = rf"^rondo: server \d \(pid {before[0]}\) was killed by signal 9 \(Killed\); "
    said += r"started again as pid \d+, restart 1 of 2 \(--restart-servers\)$"
    assert re.search(said, job.text, re.M), job.text
    assert job.text.count("started again") == 3, job.text
    assert job.leftovers() == []


def test_a_server_is_started_again_only_so_often(tmp_path):
    options = ["--restart-servers", 1]
    with Job(tmp_path / "job", "ps", *options, gates=[10, 20]) as job:
        job.wait_for_step(10)
        os.kill(job.servers()[0], signal.SIGKILL)
        job.pass_gate(10)
        job.wait_for_step(20)
        victim = int(re.search(r"started again as pid (\d+)", job.text)[1])
        os.kill(victim, signal.SIGKILL)
        job.pass_gate(20)
        assert job.process.wait(60) == 128 + signal.SIGKILL, job.text
    text = job.text
    assert text.count("started again") == 1, text
    said = rf"^rondo: server \d \(pid {victim}\) was killed by signal 9 \(Killed\)$"
    assert re.search(said, text, re.M), text
    # The launcher has told them: they did not wait for it to come back.
    # One may hear of it from the other, who has given up.
    lost = r"^failed (PeerLost|Cancelled)Error .*server \d was lost: it was killed by"
    assert len(re.findall(lost, text, re.M)) == 2, text
    assert job.leftovers() == []


def test_a_training_goes_on_when_its_server_was_killed(tmp_path):
    served = ["-n", 2, "--strategy", "ps", "--servers", 1]
    with Training(tmp_path / "calm", *served) as calm:
        calm.wait_step(60)
    restarts = ["--restart-servers", 1, "--server-log", tmp_path]
    with Training(tmp_path / "shaken", *served, *restarts) as shaken:
        shaken.wait_step(20)
        (server,) = servers_of(shaken.process.pid)
        os.kill(server, signal.SIGKILL)
        said = f"rondo: server 0 (pid {server}) was killed by signal 9"
        shaken.wait_for(lambda: said in shaken.text)
        shaken.wait_step(len(curve(shaken.text)) + 30)
        shaken.process.send_signal(signal.SIGINT)
        assert shaken.process.wait(60) == 130, shaken.text
    undisturbed = curve(calm.text)
    both = {s: loss for s, loss in curve(shaken.text).items() if s in undisturbed}
    assert len(both) >= 50
    assert both == {step: undisturbed[step] for step in both}
    assert list(tmp_path.glob("rondo-servers-*")) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--restart-servers", -1], "--restart-servers -1: expected a number"),
        (["--server-log", "x"], "--server-log x: servers keep a log to be started"),
        (["--servers", 0, "--restart-servers", 1], "the job has no servers; add"),
    ],
)
def test_command_lines_that_cannot_work(options, sentence):
    if "--servers" not in options:
        options = ["--servers", 1, "--strategy", "ps", *options]
    done = rondo_run("-n", 2, *options, "--", "true")
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_folder_for_logs_that_is_not_there_is_named(tmp_path):
    options = ["-n", 1, "--servers", 1, "--strategy", "ps", "--restart-servers", 1]
    done = rondo_run(*options, "--server-log", tmp_path / "none", "--", "true")
    assert done.returncode != 0
    assert f"in {tmp_path}/none: No such file" in done.stderr, done.stderr
