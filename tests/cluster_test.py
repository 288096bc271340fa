"""Clusters of real processes: steps over several tasks, and what becomes of them
when a task, a master or a client dies, stops, or is somebody else."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from ranks import RONDO, listening, wait_until

import rondo as rd


def program(graph, ps="/job:ps/task:0", worker="/job:worker/task:0"):
    """A variable on the ps, a product on the worker, and a wait without end on
    either."""
    with graph.as_default():
        x = rd.placeholder(rd.float32, [None])
        with rd.device(ps):
            w = rd.Variable(np.float32([1, 2, 3]), name="w")
            add = rd.assign_add(w, np.float32([1, 1, 1]))
            never_on_ps = rd.FIFOQueue(1, [rd.float32], name="never_ps").dequeue()
        with rd.device(worker):
            y = w * x
            never = rd.FIFOQueue(1, [rd.float32], name="never").dequeue()
        init = rd.global_variables_initializer()
    return x, w, add, y, {"worker": never, "ps": never_on_ps}, init


class Running(threading.Thread):
    """A run that is to fail."""

    def __init__(self, session, fetches, *more):
        super().__init__(daemon=True)
        self.session, self.wanted, self.error = session, (fetches, *more), None
        self.start()

    def run(self):
        try:
            self.session.run(*self.wanted)
        except rd.errors.Error as e:
            self.error = e

    def result(self):
        self.join(60)
        assert not self.is_alive(), "the run goes on"
        return self.error


def steps_of(target):
    return rd._core.task_status(target)["steps"]


def wait_for_step(target):
    wait_until(lambda: steps_of(target) > 0, 60, lambda: "no step began")


def test_steps_over_processes(cluster):
    c = cluster(ps=2, workers=2)
    graph = rd.Graph()
    x, w, add, y, _, init = program(graph, "/job:ps/task:1", "/job:worker/task:1")
    feed = np.float32([4, 5, 6])
    for master in [("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]:
        with rd.Session(c[master].target, graph=graph) as s:
            s.run(init)
            for i in range(20):
                got, _ = s.run([y, add], {x: feed})
                np.testing.assert_array_equal(got, (np.float32([1, 2, 3]) + i) * feed)
    # The variables belong to the tasks.
    with rd.Session(c["worker", 0].target, graph=graph) as s:
        np.testing.assert_array_equal(s.run(w), np.float32([21, 22, 23]))


@pytest.mark.parametrize("master", ["worker", "ps"])
def test_the_trace_has_the_nodes_of_all_tasks(cluster, master):
    c = cluster()
    graph = rd.Graph()
    x, w, add, y, _, init = program(graph)
    options = rd.RunOptions(trace_level=rd.RunOptions.FULL_TRACE)
    metadata = rd.RunMetadata()
    with rd.Session(c[master, 0].target, graph=graph) as s:
        s.run(init)
        feed = {x: np.float32([4, 5, 6])}
        s.run([y, add], feed, options=options, run_metadata=metadata)
    events = json.loads(metadata.trace)["traceEvents"]
    named = [e for e in events if e["name"] == "process_name"]
    devices = {e["pid"]: e["args"]["name"] for e in named}
    where = {e["name"]: devices[e["pid"]] for e in events if e["ph"] == "X"}
    assert where[add.op.name] == "/job:ps/task:0/cpu:0"
    assert where[y.op.name] == "/job:worker/task:0/cpu:0"
    assert all(e["ts"] >= 0 for e in events if e["ph"] == "X")


def test_placed_by_cost(cluster, monkeypatch):
    monkeypatch.setenv("RONDO_NUM_THREADS", "1")  # or a transfer may not be worth it
    c = cluster(ps=1, workers=2)
    graph = rd.Graph()
    with graph.as_default():
        x = rd.placeholder(rd.float32, [512, 512])
        left = rd.matmul(x, x, name="left")
        right = rd.matmul(x, -x, name="right")
        with rd.device("/job:ps/task:0"):
            w = rd.Variable(np.float32(1), name="w")
        y = w * rd.reduce_sum(left - right)
        init = rd.global_variables_initializer()
    config = rd.ConfigProto(placement="cost", device_filters=["/job:ps", "/job:worker"])
    feed = {x: np.ones([512, 512], np.float32)}
    with rd.Session(c["worker", 0].target, graph=graph, config=config) as s:
        lines = [line.split() for line in s.explain_placement(y, [x]).splitlines()]
        where = {line[0]: line[2] for line in lines if len(line) > 2}
        assert where["left"] != where["right"]
        assert where["w"] == "/job:ps/task:0/cpu:0"
        s.run(init)
        for _ in range(10):  # some of them timed, and placed again
            assert s.run(y, feed) == 512.0**3 * 2


def test_megabytes_between_processes(cluster):
    c = cluster()
    graph = rd.Graph()
    with graph.as_default():
        x = rd.placeholder(rd.float32, [None])
        with rd.device("/job:ps/task:0"):
            there = x * 2.0
        with rd.device("/job:worker/task:0"):
            back = there + 1.0
    data = np.arange(3_000_000, dtype=np.float32)
    with rd.Session(c["worker", 0].target, graph=graph) as s:
        for _ in range(3):
            np.testing.assert_array_equal(s.run(back, {x: data}), data * 2 + 1)


def test_training_in_this_process_with_a_parameter_server(cluster):
    """Between-graph: the worker is this process, and its master too."""
    c = cluster(ps=1, workers=0 + 1)
    c["worker", 0].end()
    spec = {job: list(tasks) for job, tasks in c.addresses.items()}
    server = rd.train.Server(spec, job_name="worker", task_index=0)
    graph = rd.Graph()
    with graph.as_default():
        x = rd.placeholder(rd.float32, [None, 3])
        target = rd.placeholder(rd.float32, [None, 1])
        with rd.device("/job:ps/task:0"):
            w = rd.Variable(np.zeros((3, 1), np.float32))
        with rd.device("/job:worker/task:0"):
            loss = rd.reduce_mean(rd.square(rd.matmul(x, w) - target))
        train = rd.train.GradientDescentOptimizer(0.1).minimize(loss)
        init = rd.global_variables_initializer()
    random = np.random.default_rng(1)
    truth = np.float32([[1], [-2], [3]])
    with rd.Session(server.target, graph=graph) as s:
        s.run(init)
        for _ in range(200):
            data = random.standard_normal((16, 3)).astype(np.float32)
            s.run(train, {x: data, target: data @ truth})
        np.testing.assert_allclose(s.run(w), truth, atol=1e-3)
        # A function of this program is called here, wherever its input is.
        with graph.as_default():
            twice = rd.py_func(lambda w: 2 * w, [w], rd.float32)
        np.testing.assert_allclose(s.run(twice), 2 * truth, atol=1e-2)
    server.stop()


@pytest.mark.parametrize("how", ["killed", "stopped"])
@pytest.mark.parametrize(("victim", "master"), [("ps", "worker"), ("worker", "ps")])
def test_a_task_that_dies_ends_the_step(cluster, victim, master, how):
    c = cluster(workers=2)
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    # The step waits on the task that lives as well.
    with rd.Session(c[master, 0].target, graph=graph) as s:
        s.run(init)
        run = Running(s, [never["ps"], never["worker"]])
        wait_for_step(c[victim, 0].target)
        c[victim, 0].signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        error = run.result()
        assert isinstance(error, rd.errors.PeerLostError), error
        assert c[victim, 0].name in str(error)
        if how == "stopped":
            assert "has not answered" in str(error)
    # Nothing of the step is left where there is life, and others are served.
    assert steps_of(c[master, 0].target) == 0
    other = rd.Graph()
    with other.as_default(), rd.device("/job:worker/task:1"):
        one = rd.constant(1.0) + 1.0
    config = rd.ConfigProto(device_filters=["/job:worker/task:1"])
    with rd.Session(c["worker", 1].target, graph=other, config=config) as s:
        assert s.run(one) == 2


@pytest.mark.parametrize("level", ["NO_TRACE", "FULL_TRACE"])
def test_a_run_with_a_timeout_gives_up_a_stopped_task(cluster, monkeypatch, level):
    # Its link would take it for lost much later.
    monkeypatch.setenv("RONDO_PATIENCE", "600")
    c = cluster(RONDO_PATIENCE="600")
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    with graph.as_default(), rd.device("/job:worker/task:0"):
        here = x + 1.0
    options = rd.RunOptions(getattr(rd.RunOptions, level), timeout_in_ms=500)
    with rd.Session(c["worker", 0].target, graph=graph) as s:
        s.run(init)
        s.run([add, here], {x: [1.0]})
        c["ps", 0].signal(signal.SIGSTOP)
        run = Running(s, [add, here], {x: [1.0]}, options, rd.RunMetadata())
        error = run.result()
        assert isinstance(error, rd.errors.TimeoutError), error
        assert "/job:ps/task:0" in str(error)
        c["ps", 0].signal(signal.SIGCONT)


def test_a_parameter_server_that_comes_back(cluster):
    c = cluster()
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    s = rd.Session(c["worker", 0].target, graph=graph)
    s.run(init)
    c["ps", 0].end()
    with pytest.raises(rd.errors.PeerLostError, match="/job:ps/task:0"):
        s.run(w)
    c.start("ps", 0)
    with rd.Session(c["worker", 0].target, graph=graph) as again:
        with pytest.raises(rd.errors.Error, match="w"):
            again.run(w)  # its value went with the process
        again.run(init)
        np.testing.assert_array_equal(again.run(w), [1, 2, 3])
    with pytest.raises(rd.errors.PeerLostError):
        s.run(w)
    s.close()


def test_a_master_that_dies(cluster):
    c = cluster(workers=2)
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph, worker="/job:worker/task:1")
    s = rd.Session(c["worker", 0].target, graph=graph)
    s.run(init)
    run = Running(s, [never["ps"], never["worker"]])
    wait_for_step(c["ps", 0].target)
    wait_for_step(c["worker", 1].target)
    c["worker", 0].end()
    assert "/job:worker/task:0" in str(run.result())
    for task in [("ps", 0), ("worker", 1)]:
        wait_until(
            lambda t=c[task].target: steps_of(t) == 0, 60, lambda: "its steps go on"
        )
        assert rd._core.task_status(c[task].target)["graphs"] == 0


CLIENT = """
import sys
import rondo as rd
with rd.device("/job:ps/task:0"):
    never = rd.FIFOQueue(1, [rd.float32]).dequeue()
with rd.Session(sys.argv[1]) as s:
    s.run(never)
"""


def test_a_client_that_vanishes(cluster):
    c = cluster()
    target = c["worker", 0].target
    client = subprocess.Popen([sys.executable, "-c", CLIENT, target])
    try:
        wait_for_step(c["ps", 0].target)
        assert rd._core.task_status(target)["sessions"] == 1
    finally:
        client.kill()
        client.wait()
    wait_until(
        lambda: rd._core.task_status(target)["sessions"] == 0,
        60,
        lambda: "the session is kept",
    )
    wait_until(lambda: steps_of(c["ps", 0].target) == 0, 60, lambda: "its step goes on")


def test_a_token_that_differs(cluster, monkeypatch):
    c = cluster(RONDO_TOKEN="secret")
    monkeypatch.setenv("RONDO_TOKEN", "guess")
    wait_until(lambda: "serves at" in c["worker", 0].text, 60, lambda: "not up")
    with pytest.raises(rd.errors.PermissionError, match="RONDO_TOKEN"):
        rd.Session(c["worker", 0].target, graph=rd.Graph())
    monkeypatch.setenv("RONDO_TOKEN", "secret")
    with rd.Session(c["worker", 0].target, graph=rd.Graph()) as s:
        names = [device.name for device in s.list_devices()]
        assert names == ["/job:worker/task:0/cpu:0", "/job:ps/task:0/cpu:0"]


@pytest.fixture
def certificates(tmp_path):
    """RONDO_TLS_* for an authority of the test's own, and for another."""

    def openssl(*arguments):
        subprocess.run(
            ["openssl", *map(str, arguments)], check=True, capture_output=True
        )

    made = []
    for name in ("ours", "theirs"):
        ca, key, cert = (tmp_path / f"{name}.{kind}" for kind in ("ca", "key", "crt"))
        ca_key, request = tmp_path / f"{name}.ca.key", tmp_path / f"{name}.csr"
        extension = tmp_path / "san"
        extension.write_text("subjectAltName=IP:127.0.0.1\n")
        new = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"]
        openssl(*new, "-x509", "-days", 2, "-keyout", ca_key, "-out", ca)
        openssl(*new, "-keyout", key, "-out", request)
        openssl(
            *["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key],
            *["-CAcreateserial", "-days", 2, "-extfile", extension, "-out", cert],
        )
        made.append({"CA": ca, "CERT": cert, "KEY": key})
    return [
        {f"RONDO_TLS_{kind}": str(path) for kind, path in files.items()}
        for files in made
    ]


def test_tls(cluster, certificates, monkeypatch):
    ours, theirs = certificates
    c = cluster(**ours)
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    for name, path in ours.items():
        monkeypatch.setenv(name, path)
    with rd.Session(c["worker", 0].target, graph=graph) as s:
        s.run(init)
        np.testing.assert_array_equal(s.run(w), [1, 2, 3])
    monkeypatch.setenv("RONDO_CONNECT_TIMEOUT", "1")
    for other in (theirs, dict.fromkeys(ours, "")):
        for name, path in other.items():
            monkeypatch.setenv(name, path)
        with pytest.raises(rd.errors.Error):
            rd.Session(c["worker", 0].target, graph=graph)


def test_strangers_do_no_harm(cluster):
    c = cluster()
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    with rd.Session(c["worker", 0].target, graph=graph) as s:
        s.run(init)
        random = np.random.default_rng(2)
        for host, port in listening(c["ps", 0].process.pid):
            for _ in range(20):
                with socket.create_connection((host, port)) as stranger:
                    with contextlib.suppress(OSError):
                        stranger.sendall(random.bytes(int(random.integers(1, 5000))))
        s.run(add)
        np.testing.assert_array_equal(s.run(w), [2, 3, 4])


def serve(*arguments):
    return subprocess.run(
        [RONDO, "server", *arguments], capture_output=True, text=True, timeout=60
    )


def test_servers_that_cannot_start(cluster, tmp_path):
    c = cluster()
    wait_until(lambda: "serves at" in c["ps", 0].text, 60, lambda: "not up")
    same = serve("--cluster", c.text, "--job", "ps")
    assert same.returncode == 1
    assert "is another process this task already?" in same.stderr
    unknown = serve("--cluster", c.text, "--job", "boss")
    assert unknown.returncode == 2
    assert 'no job "boss"; it has: ps, worker' in unknown.stderr
    assert (
        "no task 4" in serve("--cluster", c.text, "--job", "ps", "--task", "4").stderr
    )
    config = tmp_path / "server.toml"
    config.write_text('cluster = "ps=nonsense"\njob = "ps"\n')
    assert '"nonsense" is no address' in serve("--config", str(config)).stderr


def test_a_task_that_is_late(cluster):
    c = cluster()
    c["ps", 0].end()
    graph = rd.Graph()
    x, w, add, y, never, init = program(graph)
    made = []

    def connect():
        made.append(rd.Session(c["worker", 0].target, graph=graph))

    waits = threading.Thread(target=connect)
    waits.start()
    c.start("ps", 0)
    waits.join(60)
    with made[0] as s:
        s.run(init)
        np.testing.assert_array_equal(s.run(y, {x: [1, 1, 1]}), [1, 2, 3])
