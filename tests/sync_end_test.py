"""The end of synchronous training: a worker that saw the step just before the last
update begins one step more, and has to get out of it, whoever has left before."""

import contextlib
import subprocess
import sys

import pytest
from cluster_tasks import run_all
from ranks import clean_env

import rondo as rd

LAST = 3


class Replica:
    """A worker's client."""

    def __init__(self, target, task, workers):
        self.chief = task == 0
        self.target = target
        self.graph = rd.Graph()
        setter = rd.train.replica_device_setter(
            ps_tasks=1, worker_device=f"/job:worker/task:{task}"
        )
        with self.graph.as_default(), rd.device(setter):
            w = rd.Variable(1.0, name="w")
            self.step = rd.train.get_or_create_global_step()
            # Read before this worker's gradients are there, so before the update
            # to which they belong.
            self.early = self.step.read_value()
            with rd.control_dependencies([self.early]):
                x = rd.identity(rd.constant(2.0))
            self.sync = rd.train.SyncReplicasOptimizer(
                rd.train.GradientDescentOptimizer(0.1), workers
            )
            self.train = self.sync.minimize(rd.square(w - x), global_step=self.step)

    def trains(self, session, early):
        """To the last step, by the count before its run or after it."""
        now = 0
        while now < LAST:
            now, _ = session.run([self.early, self.train])
            if not early:
                now = session.run(self.step)

    def monitored(self):
        with self.graph.as_default():
            hook = self.sync.make_session_run_hook(self.chief, num_tokens=0)
            return rd.train.MonitoredTrainingSession(
                self.target, self.chief, hooks=[hook]
            )

    @contextlib.contextmanager
    def supervised(self):
        with self.graph.as_default():
            sync = self.sync
            runner = sync.get_chief_queue_runner()
            supervisor = rd.train.Supervisor(
                is_chief=self.chief,
                local_init_op=(
                    sync.chief_init_op if self.chief else sync.local_step_init_op
                ),
                ready_for_local_init_op=sync.ready_for_local_init_op,
                recovery_wait_secs=0.1,
            )
        with supervisor.managed_session(self.target) as session:
            if self.chief:
                supervisor.start_queue_runners(session, [runner])
            yield session


@pytest.mark.parametrize("kind", ["monitored", "supervised"])
@pytest.mark.parametrize(
    ("workers", "early"), [(2, {0}), (2, {1}), (3, {1, 2}), (3, {0, 2})]
)
def test_nobody_waits_for_who_has_left(cluster, kind, workers, early):
    c = cluster(ps=1, workers=workers)
    replicas = [Replica(c["worker", i].target, i, workers) for i in range(workers)]

    def work(replica):
        with getattr(replica, kind)() as session:
            replica.trains(session, replicas.index(replica) in early)

    run_all(replicas, work)


# A program that neither stops its supervisor nor closes its session.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[2])
import rondo as rd
from sync_end_test import Replica

replica = Replica(sys.argv[1], 0, 1)
with replica.graph.as_default():
    sync = replica.sync
    runner = sync.get_chief_queue_runner()
    sv = rd.train.Supervisor(local_init_op=sync.chief_init_op)
session = sv.prepare_or_wait_for_session(replica.target)
sv.start_queue_runners(session, [runner])
replica.trains(session, early=False)
if sys.argv[3] == "fails":
    raise RuntimeError("of the program")
"""


@pytest.mark.parametrize(("end", "tokens"), [("ends", 1), ("fails", 0)])
def test_the_end_of_a_program(cluster, request, end, tokens):
    """One that fails is started anew, and then brings what it owes."""
    c = cluster()
    target = c["worker", 0].target
    program = [sys.executable, "-c", PROGRAM, target, request.path.parent, end]
    run = subprocess.run(program, env=clean_env(), timeout=60, check=False)
    assert run.returncode == (0 if end == "ends" else 1)
    with rd.Graph().as_default(), rd.Session(target) as session:
        with rd.device("/job:ps/task:0"):
            queue = rd.FIFOQueue(-1, [rd.int64], [()], shared_name="sync_token_q")
        assert session.run(queue.size()) == tokens
