"""Sessions on several devices of this process."""

import json

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")

TWO = rd.ConfigProto(device_count={"CPU": 2})
CPU0 = "/job:localhost/task:0/cpu:0"
CPU1 = "/job:localhost/task:0/cpu:1"


def test_devices_are_listed():
    with rd.Session(config=TWO) as s:
        assert [d.name for d in s.list_devices()] == [CPU0, CPU1]
        assert {d.device_type for d in s.list_devices()} == {"CPU"}
    with rd.Session() as s:
        assert [d.name for d in s.list_devices()] == [CPU0]
    rd.Session(config=rd.ConfigProto(device_count={"CPU": 1, "GPU": 0})).close()
    with pytest.raises(rd.InvalidArgumentError, match="tpu"):
        rd.Session(config=rd.ConfigProto(device_count={"TPU": 1}))
    with pytest.raises(rd.InvalidArgumentError, match="-1"):
        rd.Session(config=rd.ConfigProto(device_count={"CPU": -1}))


def test_a_graph_on_two_devices():
    x = rd.placeholder(rd.float32, [None])
    with rd.device("/cpu:1"):
        a = x * 2.0
    with rd.device("/cpu:0"):
        b = a + x
    with rd.Session(config=TWO) as s:
        for i in range(20):
            got = s.run([b, a, x], {x: [i, 1.0]})
            assert [g.tolist() for g in got] == [[3 * i, 3], [2 * i, 2], [i, 1]]


def test_a_device_that_is_not_there():
    with rd.device("/cpu:5"):
        x = rd.constant(1.0, name="far") + 1.0
    for config, devices in ((None, CPU0), (TWO, f"{CPU0}, {CPU1}")):
        with rd.Session(config=config) as s:
            with pytest.raises(rd.InvalidArgumentError, match="cpu:5") as e:
                s.run(x)
            assert devices in str(e.value)
    for count in (1, 2):
        config = rd.ConfigProto(device_count={"CPU": count}, allow_soft_placement=True)
        with rd.Session(config=config) as s:
            assert s.run(x) == 2.0


def test_placement_is_written_on_request(capfd):
    with rd.device("/cpu:1"):
        x = rd.identity(rd.constant(1.0), name="here")
    config = rd.ConfigProto(device_count={"CPU": 2}, log_device_placement=True)
    with rd.Session(config=config) as s:
        s.run(x)
        s.run(x)
    assert capfd.readouterr().err.count(f"here (Identity): {CPU1}\n") == 1


def test_branches_on_two_devices():
    x = rd.placeholder(rd.float32, [])

    def on(device, f):
        def branch():
            with rd.device(device):
                return f()

        return branch

    y = rd.cond(x > 0, on("/cpu:1", lambda: x * 10.0), on("/cpu:0", lambda: x - 1.0))
    with rd.Session(config=TWO) as s:
        for _ in range(5):
            assert s.run(y, {x: 2.0}) == 20.0
            assert s.run(y, {x: -2.0}) == -3.0


def towers():
    """Two towers that share their variables, and their training."""
    rd.set_random_seed(3)
    x = rd.placeholder(rd.float32, [8, 6])
    labels = rd.placeholder(rd.int64, [8])
    losses = []
    with rd.device("/cpu:0"):
        w1 = rd.Variable(rd.random_uniform([6, 12], -0.5, 0.5), name="w1")
        w2 = rd.Variable(rd.random_uniform([12, 3], -0.5, 0.5), name="w2")
    for i in range(2):
        with rd.device(f"/cpu:{i}"):
            part = rd.slice(x, [4 * i, 0], [4, 6])
            logits = rd.matmul(rd.nn.relu(rd.matmul(part, w1)), w2)
            losses.append(
                rd.losses.sparse_softmax_cross_entropy(
                    rd.slice(labels, [4 * i], [4]), logits
                )
            )
    loss = (losses[0] + losses[1]) / 2.0
    train = rd.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return x, labels, loss, train


def test_towers_train_as_on_one_device():
    x, labels, loss, train = towers()
    rng = np.random.default_rng(1)
    feed = {x: rng.normal(size=(8, 6)), labels: rng.integers(0, 3, 8)}
    soft = rd.ConfigProto(allow_soft_placement=True)
    curves = []
    for config in (soft, TWO):
        with rd.Session(config=config) as s:
            s.run(rd.global_variables_initializer())
            curves.append([s.run([loss, train], feed)[0] for _ in range(20)])
    assert curves[0][-1] < curves[0][0]
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-4)


def test_errors_name_the_device():
    i = rd.placeholder(rd.int64, [1])
    with rd.device("/cpu:1"):
        y = rd.gather(rd.constant([1.0, 2.0]), i, name="look_up")
    with rd.device("/cpu:0"):
        z = y + 1.0
    with rd.Session(config=TWO) as s:
        with pytest.raises(rd.InvalidArgumentError, match="look_up") as e:
            s.run(z, {i: [5]})
        assert CPU1 in str(e.value)
        assert s.run(z, {i: [1]}).tolist() == [3]


def test_an_exception_of_a_function_on_another_device():
    def fails():
        raise ZeroDivisionError("of mine")

    with rd.device("/cpu:1"):
        y = rd.py_func(fails, [], rd.float32)
    with rd.device("/cpu:0"):
        z = y + 1.0
    with rd.Session(config=TWO) as s:
        with pytest.raises(rd.Error, match="of mine") as e:
            s.run(z)
        assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_functions_of_the_program_ask_for_their_device():
    x = rd.placeholder(rd.float32, [])
    with rd.device(lambda op: "/cpu:1" if op.type == "HostCall" else "/cpu:0"):
        y = rd.py_func(lambda x: x + 1, [x], rd.float32)
        z = rd.custom_gradient(lambda x: (x * 2.0, lambda dy: dy))(x)
    assert y.op.device == "/cpu:1"
    assert z.op.device == "/cpu:0"
    with rd.Session(config=TWO) as s:
        assert s.run([y, z], {x: 2}) == [3, 4]


def test_a_run_that_waits_ends_in_time():
    with rd.device("/cpu:1"):
        queue = rd.FIFOQueue(3, [rd.float32])
        got = queue.dequeue()
    with rd.device("/cpu:0"):
        y = got + 1.0
    with rd.Session(config=TWO) as s:
        with pytest.raises(rd.TimeoutError):
            s.run(y, timeout=0.05)


def test_the_trace_has_devices(tmp_path):
    with rd.device("/cpu:1"):
        x = rd.placeholder(rd.float32, [])
        y = x * x
    with rd.device("/cpu:0"):
        z = y + x
    path = tmp_path / "trace.json"
    with rd.Session(config=TWO) as s:
        s.run(z, {x: 2.0}, trace=path)
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {CPU0, CPU1}
    assert {e["pid"] for e in events if e["ph"] == "X"} == {0, 1}


def test_containers():
    with rd.container("mine"):
        v = rd.Variable(1.0)
    more = v.assign_add(2.0)
    assert v.op.get_attr("container") == "mine"
    assert more.op.get_attr("container") == "mine"
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        assert s.run(more) == 3.0
        assert s.run(v) == 3.0


def test_a_queue_stays_where_it_was_made():
    with rd.device("/cpu:1"):
        q = rd.FIFOQueue(3, rd.float32, shapes=[[]])
    with rd.device("/cpu:0"):
        put, got, close = q.enqueue(7.0), q.dequeue(), q.close()
    assert [x.device for x in (put, got.op, close)] == ["/cpu:1"] * 3
    with rd.Session(config=TWO) as s:
        s.run(put)
        assert s.run(got) == 7.0
        s.run(close)


def test_a_queue_that_was_made_nowhere_asks_for_nothing():
    q = rd.FIFOQueue(3, rd.float32)
    with rd.device("/cpu:1"):
        assert q.size().op.device == ""


def test_an_accumulator_stays_where_it_was_made():
    with rd.device("/cpu:1"):
        a = rd.ConditionalAccumulator(rd.float32, [], reduction_type="SUM")
    with rd.device("/cpu:0"):
        apply, taken = a.apply_grad(3.0), a.take_grad(2)
    assert (apply.device, taken.op.device) == ("/cpu:1", "/cpu:1")
    with rd.Session(config=TWO) as s:
        s.run(apply)
        s.run(apply)
        assert s.run(taken) == 6.0


def test_a_critical_section_stays_where_it_was_made():
    with rd.device("/cpu:1"):
        section = rd.CriticalSection()
    with rd.device("/cpu:0"):
        given = section.execute(lambda: rd.constant(1.0) + 2.0)
        assert section.acquire().op.device == "/cpu:1"
    assert given.op.device == "/cpu:0"
    with rd.Session(config=TWO) as s:
        assert [s.run(given) for _ in range(3)] == [3.0] * 3


def test_where_functions_choose_the_first_node_settles_it():
    devices = iter(["/cpu:1", "/cpu:0", "/cpu:0"])
    with rd.device(lambda op: next(devices)):
        section = rd.CriticalSection()
        lock = section.acquire()
        release = section.release(lock)
    assert (lock.op.device, release.device) == ("/cpu:1", "/cpu:1")


def devices_in(table, *names):
    rows = [line.split() for line in table.splitlines() if line]
    found = {row[0]: row[2] for row in rows if len(row) > 2}
    return [found[name] for name in names]


def test_placement_by_cost_splits_a_diamond():
    x = rd.placeholder(rd.float32, [256, 256])
    left = rd.matmul(x, x, name="left")
    right = rd.matmul(x, -x, name="right")
    y = left - right
    value = np.sin(np.arange(256 * 256, dtype=np.float32)).reshape(256, 256)
    with rd.Session() as s:
        expected = s.run(y, {x: value})
    cost = rd.ConfigProto(
        intra_op_parallelism_threads=1, device_count={"CPU": 2}, placement="cost"
    )
    with rd.Session(config=cost) as s:
        table = s.explain_placement(y, {x: value})
        assert sorted(devices_in(table, "left", "right")) == [CPU0, CPU1]
        for _ in range(10):
            np.testing.assert_array_equal(s.run(y, {x: value}), expected)
    with rd.Session(config=TWO) as s:
        table = s.explain_placement([y, left.op], [x])
        assert devices_in(table, "left", "right") == [CPU0, CPU0]
        with pytest.raises(rd.InvalidArgumentError, match="fed"):
            s.explain_placement(y)


def test_a_placement_that_is_not_there():
    with pytest.raises(rd.InvalidArgumentError, match="cheap"):
        rd.Session(config=rd.ConfigProto(placement="cheap"))
    with pytest.raises(rd.InvalidArgumentError, match="cheap"):
        rd.Session("grpc://localhost:1", config=rd.ConfigProto(placement="cheap"))


def test_functions_of_the_program_are_where_scopes_say(new_graph):
    @rd.custom_gradient
    def same(x):
        return x, lambda d: d

    with rd.device("/cpu:1"):
        with rd.device(lambda op: "/cpu:0"):
            made = [rd.py_func(lambda: 1.0, [], rd.float32), same(rd.constant(1.0))]
        with rd.device(None):
            free = rd.py_func(lambda: 1.0, [], rd.float32)
    assert [x.device for x in made] == ["/cpu:0", "/cpu:0"]
    assert free.device == ""
