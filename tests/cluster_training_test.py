"""LeNet on clusters of real processes, in each of the ways of docs/cluster.md: the
results are those of one process."""

import threading

import numpy as np
import pytest
from cluster_tasks import run_all

import rondo as rd

STEPS = 4
BATCH = 32
TASKS = pytest.mark.parametrize(("ps", "workers"), [(1, 2), (2, 4)])


def model():
    return rd.models.LeNet(filters=(4, 8), units=16)


def loss_of(network, images, labels):
    return rd.losses.sparse_softmax_cross_entropy(labels, network(images))


def data(steps=STEPS):
    rng = np.random.default_rng(3)
    for _ in range(steps):
        images = rng.random((BATCH, 28, 28, 1), dtype=np.float32)
        yield images, (images.mean(axis=(1, 2, 3)) * 1000).astype(np.int64) % 10


def inputs(batch=BATCH):
    return (
        rd.placeholder(rd.float32, [batch, 28, 28, 1]),
        rd.placeholder(rd.int64, [batch]),
    )


def optimizer():
    return rd.train.MomentumOptimizer(0.05, 0.9)


@pytest.fixture(scope="module")
def alone():
    """The losses of one process, its variables after that, and before."""
    with rd.Graph().as_default() as graph, rd.Session() as session:
        graph.seed = 5
        x, y = inputs()
        loss = loss_of(model(), x, y)
        train = optimizer().minimize(loss)
        session.run(rd.global_variables_initializer())
        variables = rd.trainable_variables()
        before = session.run(variables)
        losses = [session.run([loss, train], {x: i, y: t})[0] for i, t in data()]
        return losses, session.run(variables), before


def begin_as(session, variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.load(value, session)


def servers(count):
    return rd.train.replica_device_setter(
        ps_tasks=count, worker_device="/job:worker/task:0"
    )


def check(session, losses, alone):
    expected, variables, _ = alone
    np.testing.assert_allclose(losses, expected, rtol=2e-4)
    for ours, theirs in zip(
        session.run(rd.trainable_variables()), variables, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def averaged(towers):
    """[(gradient, variable)] of all towers, as one."""
    for pairs in zip(*towers, strict=True):
        gradients = [gradient for gradient, _ in pairs]
        yield rd.add_n(gradients) / float(len(gradients)), pairs[0][1]


@TASKS
def test_in_graph_replicas(cluster, alone, ps, workers):
    """One client, a tower on each worker, their gradients averaged."""
    c = cluster(ps, workers)
    with rd.Graph().as_default():
        x, y = inputs()
        images, labels = rd.split(x, workers), rd.split(y, workers)
        network, opt = model(), optimizer()
        losses, towers = [], []
        for i in range(workers):
            setter = rd.train.replica_device_setter(
                ps_tasks=ps, worker_device=f"/job:worker/task:{i}"
            )
            with rd.device(setter):
                losses.append(loss_of(network, images[i], labels[i]))
                towers.append(
                    opt.compute_gradients(losses[-1], rd.trainable_variables())
                )
        with rd.device(servers(ps)):
            loss = rd.add_n(losses) / float(workers)
            train = opt.apply_gradients(list(averaged(towers)))
        with rd.Session(c["worker", 0].target) as session:
            session.run(rd.global_variables_initializer())
            begin_as(session, rd.trainable_variables(), alone[2])
            seen = [session.run([loss, train], {x: i, y: t})[0] for i, t in data()]
            check(session, seen, alone)


class Replica:
    """A worker's client: its own graph, variables shared on the servers."""

    def __init__(self, cluster, ps, task, synchronous_workers=0):
        self.task = task
        self.graph = rd.Graph()
        here = f"/job:worker/task:{task}"
        workers = max(1, synchronous_workers)
        with self.graph.as_default():
            setter = rd.train.replica_device_setter(ps_tasks=ps, worker_device=here)
            with rd.device(setter):
                self.x, self.y = inputs(BATCH // workers)
                self.loss = loss_of(model(), self.x, self.y)
                # Momentum amplifies what comes late, so that losses would jump.
                opt, hooks = rd.train.GradientDescentOptimizer(0.1), []
                if synchronous_workers:
                    opt = optimizer()
                    opt = rd.train.SyncReplicasOptimizer(opt, workers)
                step = rd.train.get_or_create_global_step()
                self.train = opt.minimize(self.loss, global_step=step)
                if synchronous_workers:
                    hooks.append(opt.make_session_run_hook(task == 0, num_tokens=0))
                self.variables = rd.trainable_variables()
        self.hooks = hooks
        self.target = cluster["worker", task].target

    def session(self, start=None):
        with self.graph.as_default():
            scaffold = rd.train.Scaffold(
                init_fn=start
                and (lambda _, session: begin_as(session, self.variables, start))
            )
            return rd.train.MonitoredTrainingSession(
                self.target, self.task == 0, scaffold=scaffold, hooks=self.hooks
            )


@TASKS
def test_between_graph_replicas_that_wait_for_each_other(cluster, alone, ps, workers):
    c = cluster(ps, workers)
    replicas = [Replica(c, ps, task, workers) for task in range(workers)]
    together = threading.Barrier(workers)
    losses = np.zeros([workers, STEPS])
    final = []

    def work(replica):
        part = slice(
            replica.task * BATCH // workers, (replica.task + 1) * BATCH // workers
        )
        with replica.session(alone[2]) as session:
            for step, (images, labels) in enumerate(data()):
                together.wait(60)
                losses[replica.task, step], _ = session.run(
                    [replica.loss, replica.train],
                    {replica.x: images[part], replica.y: labels[part]},
                )
            together.wait(60)
            if replica.task == 0:
                final.extend(session.run(replica.variables))
            together.wait(60)

    run_all(replicas, work)
    np.testing.assert_allclose(losses.mean(axis=0), alone[0], rtol=2e-4)
    for ours, theirs in zip(final, alone[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@TASKS
def test_between_graph_replicas_each_at_its_own_pace(cluster, ps, workers):
    c = cluster(ps, workers)
    replicas = [Replica(c, ps, task) for task in range(workers)]
    # Images that are bright in the rows of their labels.
    labels = np.arange(BATCH) % 10
    images = np.zeros((BATCH, 28, 28, 1), np.float32)
    for image, label in zip(images, labels, strict=True):
        image[2 * label + 2 : 2 * label + 5] = 1
    losses = [[] for _ in replicas]
    together = threading.Barrier(workers)

    def work(replica):
        with replica.session() as session:
            for _ in range(60):
                losses[replica.task].append(
                    session.run(
                        [replica.loss, replica.train],
                        {replica.x: images, replica.y: labels},
                    )[0]
                )
            together.wait(60)
            if replica.task == 0:
                with replica.graph.as_default():
                    step = rd.train.get_global_step()
                assert session.run(step) == 60 * workers
            together.wait(60)

    run_all(replicas, work)
    untrained = np.log(10)
    for seen in losses:
        assert np.median(seen[-10:]) < 0.5 * untrained, seen


def test_two_stages_of_a_model(cluster, alone):
    """The convolutions on one worker, the rest on another, in micro-batches, so
    that both work at once."""
    c = cluster(ps=1, workers=2)
    parts = 4
    stages = {"conv": "/job:worker/task:0", "dense": "/job:worker/task:1"}

    def stage(op):
        # Variables and what computes with them, by the names of the layers.
        first = "conv" in op.name.split("lenet")[-1]
        return stages["conv" if first else "dense"]

    with rd.Graph().as_default():
        x, y = inputs()
        network, opt = model(), optimizer()
        losses, towers = [], []
        with rd.device(stage):
            micro = zip(rd.split(x, parts), rd.split(y, parts), strict=True)
            for images, labels in micro:
                losses.append(loss_of(network, images, labels))
                towers.append(
                    opt.compute_gradients(losses[-1], rd.trainable_variables())
                )
            loss = rd.add_n(losses) / float(parts)
            train = opt.apply_gradients(list(averaged(towers)))
        used = {v.op.device for v in rd.trainable_variables()}
        assert used == set(stages.values())
        with rd.Session(c["worker", 1].target) as session:
            session.run(rd.global_variables_initializer())
            begin_as(session, rd.trainable_variables(), alone[2])
            seen = [session.run([loss, train], {x: i, y: t})[0] for i, t in data()]
            check(session, seen, alone)
