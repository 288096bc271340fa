"""SyncReplicasOptimizer in one process; a cluster has tests of its own."""

import numpy as np
import pytest

import rondo as rd


def model(optimizer, **replicas):
    x = rd.placeholder(rd.float32, [None, 3], name="x")
    w = rd.Variable(np.ones([3, 2], np.float32), name="w")
    table = rd.Variable(np.ones([4, 2], np.float32), name="table")
    rows = rd.nn.embedding_lookup(table, rd.constant([1, 1, 3]))
    loss = rd.reduce_mean(rd.square(rd.matmul(x, w))) + rd.reduce_sum(rows * rows)
    step = rd.train.get_or_create_global_step()
    if replicas:
        optimizer = rd.train.SyncReplicasOptimizer(optimizer, **replicas)
    return x, [w, table], optimizer, optimizer.minimize(loss, global_step=step)


def batches(n):
    rng = np.random.default_rng(7)
    return [rng.random((2, 3), dtype=np.float32) for _ in range(n)]


def alone(pairs):
    """The variables after a step for each pair of batches as one."""
    with rd.Graph().as_default(), rd.Session() as session:
        x, variables, _, train = model(rd.train.MomentumOptimizer(0.1, 0.9))
        session.run(rd.global_variables_initializer())
        for pair in pairs:
            session.run(train, {x: np.concatenate(pair)})
        return session.run(variables)


def test_gradients_of_two_runs_are_one_step():
    given = batches(6)
    with rd.Graph().as_default():
        x, variables, opt, train = model(
            rd.train.MomentumOptimizer(0.1, 0.9),
            replicas_to_aggregate=2,
            total_num_replicas=1,
        )
        hook = opt.make_session_run_hook(is_chief=True, num_tokens=1)
        with rd.train.MonitoredTrainingSession(hooks=[hook]) as session:
            for batch in given:
                session.run(train, {x: batch})
            result = session.run(variables)
            assert session.run(rd.train.get_global_step()) == 3
    pairs = zip(given[::2], given[1::2], strict=True)
    for ours, theirs in zip(result, alone(pairs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_gradient_of_a_step_that_is_over_is_dropped():
    with rd.Graph().as_default():
        x, variables, opt, train = model(
            rd.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1
        )
        hook = opt.make_session_run_hook(is_chief=True, num_tokens=0)
        local = rd.local_variables()[0]
        late = local.assign(0)
        with rd.train.MonitoredTrainingSession(hooks=[hook]) as session:
            for batch in batches(3):
                session.run(train, {x: batch})
            assert session.run(local) == 3
            before = session.run(variables)
            session.run(late)
            # It waits for a token that nobody brings: its gradients did not count.
            with pytest.raises(rd.TimeoutError):
                session.run(
                    train,
                    {x: batches(1)[0]},
                    options=rd.RunOptions(timeout_in_ms=300),
                )
            for old, new in zip(before, session.run(variables), strict=True):
                np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: rd.train.SyncReplicasOptimizer(o, 0), "at least 1"),
        (
            lambda o: rd.train.SyncReplicasOptimizer(o, 1, variable_averages=1),
            "belong together",
        ),
        (
            lambda o: rd.train.SyncReplicasOptimizer(o, 1).get_init_tokens_op(),
            "call minimize",
        ),
        (
            lambda o: rd.train.SyncReplicasOptimizer(o, 1).minimize(
                rd.Variable(1.0) * 2.0
            ),
            "pass global_step",
        ),
    ],
)
def test_what_makes_no_sense(make, text):
    with rd.Graph().as_default():
        with pytest.raises(rd.InvalidArgumentError, match=text):
            make(rd.train.GradientDescentOptimizer(0.1))


def test_too_few_tokens():
    with rd.Graph().as_default():
        _, _, opt, _ = model(
            rd.train.GradientDescentOptimizer(0.1),
            replicas_to_aggregate=3,
            total_num_replicas=1,
        )
        with pytest.raises(rd.InvalidArgumentError, match="1 tokens are too few"):
            opt.get_init_tokens_op(1)
