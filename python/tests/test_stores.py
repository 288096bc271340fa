"""Ranks that meet through each kind of store."""

import queue
import threading

import numpy as np
import pytest
from ports import free_port

import rondo


def total(comm):
    return int(comm.allreduce(np.array([comm.rank + 1]))[0])


def test_files(spawn, tmp_path):
    store = rondo.FileStore(str(tmp_path / "job"))
    assert isinstance(store, rondo.Store)
    assert spawn(3, total, store=store) == [6] * 3


def test_tcp():
    url = f"tcp://127.0.0.1:{free_port()}"
    results = queue.Queue()

    def rank(r):
        store = rondo.TcpStore(url, r, timeout=30)
        with rondo.Communicator.connect(store, r, 2, connect_timeout=30) as comm:
            results.put(total(comm))

    threads = [threading.Thread(target=rank, args=(r,)) for r in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert [results.get_nowait() for _ in threads] == [3, 3]


class DictStore(rondo.Store):
    def __init__(self):
        self.values = {}
        self.changed = threading.Condition()

    def set(self, key, value):
        assert isinstance(value, bytes)
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def get(self, key, timeout):
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.values, timeout):
                raise TimeoutError(f"no {key}")
            return self.values[key]

    def add(self, key, amount):
        with self.changed:
            self.values[key] = self.values.get(key, 0) + amount
            return self.values[key]

    def remove(self, key):
        with self.changed:
            self.values.pop(key, None)


def test_a_store_of_the_programs_own(spawn):
    store = DictStore()
    assert spawn(3, total, store=store) == [6] * 3
    assert store.values


def test_a_store_that_fails():
    class Broken(DictStore):
        def get(self, key, timeout):
            raise ConnectionError("the wire is cut")

    with pytest.raises(rondo.UnavailableError, match="the wire is cut"):
        rondo.Communicator.connect(Broken(), 0, 2)
    with pytest.raises(rondo.TimeoutError, match="these did not .*: 1"):
        rondo.Communicator.connect(DictStore(), 0, 2, connect_timeout=0.2)
    with pytest.raises(TypeError, match="has no method set"):
        rondo.Communicator.connect(object(), 0, 2)
    with pytest.raises(TypeError, match="no option colour"):
        rondo.Communicator.connect(DictStore(), 0, 1, colour="red")


def test_keys():
    store = rondo.MemoryStore()
    store.set("a", b"\x00\xff")
    assert store.get("a") == b"\x00\xff"
    assert store.add("n", 2) == 2 and store.add("n", 3) == 5
    store.remove("a")
    with pytest.raises(rondo.TimeoutError):
        store.get("a", timeout=0.01)
