"""ClusterSpec, and functions that choose devices."""

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_cluster_spec():
    cluster = rd.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "c:1", 0: "b:1"}})
    assert cluster.jobs == ["ps", "worker"] and cluster.num_tasks("worker") == 2
    assert cluster.as_dict() == {"ps": ["a:1"], "worker": ["b:1", "c:1"]}
    assert cluster.task_address("worker", 1) == "c:1"
    assert rd.train.ClusterSpec(cluster) == cluster
    assert rd.train.ClusterSpec('{"ps": ["a:1"]}').job_tasks("ps") == ["a:1"]
    sparse = rd.train.ClusterSpec({"worker": {2: "c:1"}})
    assert sparse.job_tasks("worker") == [None, None, "c:1"]
    with pytest.raises(rd.InvalidArgumentError, match='no job "chief"; there are ps'):
        cluster.num_tasks("chief")
    with pytest.raises(rd.InvalidArgumentError, match="has no task 5"):
        cluster.task_address("worker", 5)
    for wrong in ({"ps": "a:1"}, {"ps": [1]}, ["a:1"], "{"):
        with pytest.raises(rd.InvalidArgumentError, match="ClusterSpec"):
            rd.train.ClusterSpec(wrong)


CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}


def test_variables_go_round_the_servers():
    with rd.device(rd.train.replica_device_setter(cluster=CLUSTER)):
        a, b, c = (rd.Variable(1.0, name=n) for n in "abc")
        total = a + b + c
        train = rd.train.MomentumOptimizer(0.1, 0.9).minimize(total)
    assert [v.device[-7:] for v in (a, b, c)] == ["/task:0", "/task:1", "/task:0"]
    assert a.device == "/job:ps/task:0" and total.device == "/job:worker"
    # What changes a variable is where it is.
    assert a.initializer.device == a.device and b.initializer.device == b.device
    updates = [op for op in train.control_inputs if op.type == "ApplyMomentum"]
    assert [op.device for op in updates] == [v.device for v in (a, b, c)]
    gradients = [
        op
        for op in rd.get_default_graph().get_operations()
        if op.name.startswith("gradients/")
    ]
    assert gradients and all(op.device == "/job:worker" for op in gradients)


def test_what_uses_a_queue_is_where_it_was_made():
    """Else a session that may place softly would move all of it, and the workers of
    a cluster would each have their own."""
    setter = rd.train.replica_device_setter(cluster=CLUSTER)
    with rd.device("/job:ps/task:1"):
        queue = rd.FIFOQueue(2, [rd.float32], [()])
        sums = rd.ConditionalAccumulator(rd.float32, [])
    with rd.device(setter):
        made = [queue.enqueue(1.0), queue.dequeue().op, queue.close()]
        made += [sums.set_global_step(1), sums.take_grad(1).op]
    assert {op.device for op in made} == {"/job:ps/task:1"}


def test_variables_by_bytes():
    strategy = rd.train.GreedyLoadBalancingStrategy(2, rd.train.byte_size_load_fn)
    setter = rd.train.replica_device_setter(cluster=CLUSTER, ps_strategy=strategy)
    with rd.device(setter):
        made = [rd.Variable(np.zeros(n, np.float32)) for n in (100, 10, 10, 50, 60)]
    assert [v.device[-1] for v in made] == ["0", "1", "1", "1", "1"]


def test_no_servers_no_function():
    assert rd.train.replica_device_setter(0) is None
    assert rd.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None


def test_device_functions_merge_with_names():
    with rd.device("/job:worker/task:3"):
        with rd.device(lambda op: "/cpu:1" if op.type == "Const" else None):
            x = rd.constant(1)
            y = x + x
            with rd.device("/task:5"):
                z = rd.constant(2)
        with rd.device(None):
            free = rd.constant(3)
    assert x.device == "/job:worker/task:3/cpu:1"
    assert y.device == "/job:worker/task:3"
    assert z.device == "/job:worker/task:5/cpu:1"
    assert free.device == ""
    with pytest.raises(rd.InvalidArgumentError, match="device: 3"):
        with rd.device(3):
            pass


def test_devices_within_a_setter_are_left_alone():
    setter = rd.train.replica_device_setter(cluster=CLUSTER, merge_devices=False)
    with rd.device(setter):
        with rd.device("/cpu:1"):
            within = rd.constant(1)
        assert rd.constant(1).device == "/job:worker"
    assert within.device == "/cpu:1"
    with pytest.raises(rd.InvalidArgumentError, match="ps_strategy is 3"):
        rd.train.replica_device_setter(cluster=CLUSTER, ps_strategy=3)
