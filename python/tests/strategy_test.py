"""Strategies in Python: alone, and what only several ranks show. That a job trains
as one process does is tested in tests/ring_test.py."""

import numpy as np
import pytest

import rondo as rd


@pytest.fixture(autouse=True)
def fresh(new_graph):
    pass


def model():
    x = rd.placeholder(rd.float32, [None, 3])
    w = rd.get_variable("w", [3, 2])
    return x, w, rd.reduce_mean(rd.square(rd.matmul(x, w)))


def test_alone_it_changes_nothing():
    x, w, loss = model()
    strategy = rd.train.Single()
    assert (strategy.name, strategy.rank, strategy.size) == ("single", 0, 1)
    momentum = rd.train.MomentumOptimizer(0.1, 0.9)
    opt = strategy.distribute(momentum)
    train_op = opt.minimize(loss)
    operations = {op.type for op in rd.get_default_graph().get_operations()}
    assert "AllReduce" not in operations
    assert opt.get_slot(w, "velocity") is momentum.get_slot(w, "velocity") is not None
    assert opt.get_slot_names() == ["velocity"]
    with rd.Session() as session:
        session.run(strategy.initializer())
        before = session.run(w)
        session.run(train_op, {x: np.ones([2, 3], np.float32)})
        assert not np.array_equal(before, session.run(w))
        strategy.check_replicas(session)


def test_from_env(monkeypatch):
    monkeypatch.delenv("RONDO_STRATEGY", raising=False)
    assert rd.train.Strategy.from_env().name == "single"
    monkeypatch.setenv("RONDO_STRATEGY", "star")
    with pytest.raises(rd.InvalidArgumentError, match="there are single, ring"):
        rd.train.Strategy.from_env()


def test_wire_has_to_be_a_type():
    with pytest.raises(rd.InvalidArgumentError, match='"f32" or "bf16"'):
        rd.train.Ring(wire="float7")


def test_factors_are_on_off_or_auto():
    with pytest.raises(rd.InvalidArgumentError, match="expected auto, on or off"):
        rd.train.Ring(factors="yes")


def test_whether_buckets_are_tuned_is_yes_or_no(monkeypatch):
    monkeypatch.setenv("RONDO_TUNE_BUCKETS", "some")
    with pytest.raises(rd.InvalidArgumentError, match="RONDO_TUNE_BUCKETS"):
        rd.train.Strategy.from_env()


def test_a_step_is_one_run_or_more():
    with pytest.raises(rd.InvalidArgumentError, match="accumulate is 0"):
        rd.train.Ring(accumulate=0)


def test_alone_there_is_nothing_to_explain():
    assert rd.train.Single().explain() == ""


def test_a_finished_graph_takes_no_exchange():
    strategy = rd.train.Single()
    model()
    rd.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        strategy.initializer()


RANKS = """
import numpy as np
import rondo as rd

strategy = rd.train.Ring(first_bucket_bytes=1, bucket_bytes=1, wire="bf16")
rank = strategy.rank
x = rd.placeholder(rd.float32, [None, 3])
w = rd.get_variable("w", [3, 2])
b = rd.Variable(np.full(2, rank, np.float32), name="b")
unused = rd.Variable(1.0, name="unused")
loss = rd.reduce_mean(rd.matmul(x, w) + b)
opt = strategy.distribute(rd.train.GradientDescentOptimizer(1.0))
train_op = opt.minimize(loss)
change = w.assign(w + 1.0)
with rd.Session() as session:
    session.run(strategy.initializer())
    assert not session.run(b).any()  # rank 0's
    strategy.check_replicas(session)
    before = session.run(w)
    session.run(train_op, {x: np.full([4, 3], 1.0 + 2.0 * rank, np.float32)})
    # The gradient of w is x / 2; the mean of 1 and 3 is 2.
    assert np.allclose(before - session.run(w), 1.0), session.run(w)
    assert np.allclose(session.run(b), -0.5), session.run(b)
    if rank == 1:
        session.run(change)
    try:
        strategy.check_replicas(session)
    except rd.MismatchError as e:
        assert '"w" on rank 1' in str(e) and '"b"' not in str(e), e
        print("differ", flush=True)
    # Rank 1 has no more data.
    if rank == 0:
        try:
            session.run(train_op, {x: np.ones([4, 3], np.float32)})
        except rd.PeerLostError as e:
            assert "rank 1" in str(e) and "AllReduce" in str(e), e
            print("left", flush=True)
print("done", flush=True)
"""


def test_two_ranks(job):
    code, out, err = job(2, RANKS, "--no-prefix").finish()
    assert code == 0, out + err
    assert sorted(out.split()) == ["differ", "differ", "done", "done", "left"]
