"""Graphs as bytes and files."""

import subprocess
import sys

import numpy as np
import pytest

import rondo
from rondo import _core


def model():
    graph = _core.Graph()
    x = graph.add("Placeholder", [], {"dtype": np.float32, "shape": [None, 2]}, "x")
    large = np.arange(600000, dtype=np.float32)
    graph.add("Const", [], {"value": large}, "large")
    flat = graph.add("Const", [], {"value": np.array([-1])})
    graph.add("Reshape", [x.outputs[0], flat.outputs[0]], {}, "y")
    return graph


def test_bytes_and_back():
    graph = model()
    data = _core.to_graph_def(graph)
    again = _core.from_graph_def(data)
    assert [n.name for n in again.nodes] == [n.name for n in graph.nodes]
    assert _core.to_graph_def(again) == data
    assert len(_core.to_graph_def(graph, constants_up_to=1000)) < 2000
    with pytest.raises(rondo.Error, match="no graph"):
        _core.from_graph_def(b"nothing")


def test_a_file_runs_in_another_process(tmp_path):
    path = str(tmp_path / "graph")
    _core.save_graph(model(), path)
    program = """
import sys
import numpy as np
from rondo import _core
graph = _core.load_graph(sys.argv[1])
feeds = [(graph.value("x"), np.ones((2, 2), np.float32))]
fetches = [graph.value("y"), graph.value("large")]
(y, large), _ = _core.Session(graph).run(fetches, feeds)
print(y.tolist(), large.sum(dtype=np.float64))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"[1.0, 1.0, 1.0, 1.0] {599999 * 300000.0}\n"


def test_a_damaged_file(tmp_path):
    path = tmp_path / "graph"
    _core.save_graph(model(), str(path))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(rondo.Error, match="no whole graph"):
        _core.load_graph(str(path))


def test_dot():
    assert 'label="x\\nPlaceholder"' in _core.to_dot(model())


def test_tensorboard_reads_it():
    from tensorboard.compat.proto import graph_pb2

    message = graph_pb2.GraphDef.FromString(_core.to_graph_def(model()))
    nodes = {node.name: node for node in message.node}
    assert nodes["y"].op == "Reshape"
    assert list(nodes["y"].input) == ["x", "Const"]
    assert nodes["x"].attr["dtype"].type == 1
    assert [d.size for d in nodes["x"].attr["shape"].shape.dim] == [-1, 2]
    tensor = nodes["large"].attr["value"].tensor
    assert np.frombuffer(tensor.tensor_content, np.float32).sum() > 0


def test_a_graph_as_a_picture():
    with rondo.Graph().as_default() as graph:
        rondo.add(rondo.constant(1.0, name="one"), 2.0, name="sum")
    dot = graph.to_dot()
    assert dot.startswith("digraph") and "sum" in dot and "n0 -> n2" in dot
