"""The Python programs of the documentation run as they stand there."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from rondo.framework import op_gradients

import rondo as rd

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)

# What the text around a block takes for granted, by the document, the heading and
# the block's number below it. Blocks that are not here need nothing.
PRELUDE = "import gzip, os, shutil, types\nimport numpy as np, rondo as rd\n"
MODEL = """
x = rd.placeholder(rd.float32, [None, 3], name="x")
W = rd.Variable(rd.random_uniform([3, 2], -1, 1), name="W")
y = rd.matmul(x, W, name="y")
loss = rd.reduce_mean(y)
train = rd.train.GradientDescentOptimizer(0.1).minimize(loss)
images = np.ones((4, 3), np.float32)
session = rd.Session()
session.run(rd.global_variables_initializer())
"""
SAVED = (
    MODEL
    + """
os.mkdir("folder")
rd.train.Saver().save(session, "folder/model", global_step=1000)
"""
)
NEEDS = {
    ("graph.md", "Training", 0): MODEL,
    ("graph.md", "Branches and loops", 0): "n = rd.constant(3)",
    ("graph.md", "Queues, accumulators and locks", 0): """
image, label = rd.zeros([784]), rd.constant(1, rd.int64)
""",
    ("graph.md", "Queues, accumulators and locks", 1): """
queue = rd.FIFOQueue(4, [rd.float32])
put = queue.enqueue([1.0])
left = iter(range(20))
def train_step(x):
    if next(left, None) is None:
        raise rd.OutOfRangeError("enough")
    return x
train = rd.py_func(train_step, [queue.dequeue()], rd.float32)
session = rd.Session()
""",
    ("graph.md", "Checkpoints", 0): MODEL + 'os.mkdir("folder")',
    ("graph.md", "Checkpoints", 1): SAVED + "rd.reset_default_graph()",
    ("graph.md", "Training loops", 0): """
loss = rd.reduce_mean(rd.square(rd.Variable([1.0, 2.0])))
""",
    ("README.md", "Training on all ranks", 0): """
loss = rd.reduce_mean(rd.square(rd.Variable([1.0, 2.0])))
""",
    ("strategies.md", "Strategies", 0): """
loss = rd.reduce_mean(rd.square(rd.Variable([1.0, 2.0])))
""",
    # tests/ring_test.py runs it on several ranks.
    ("strategy_ring.md", "Strategy `ring`, or `allreduce`", 0): """
strategy, hooks = rd.train.Ring(join=True), []
train_op = rd.data.Dataset.range(3).make_one_shot_iterator().get_next()
""",
    ("graph.md", "Data sets", 0): """
images, labels = np.ones((200, 3), np.float32), np.zeros(200, np.int64)
train = rd.no_op()
class Stop(rd.Session):
    runs = 0
    def run(self, *args):
        self.runs += 1
        if self.runs > 10:
            raise rd.OutOfRangeError("enough")
        return super().run(*args)
rd = types.SimpleNamespace(**{**vars(rd), "Session": Stop})
""",
    ("graph.md", "Data sets", 1): """
with gzip.open("train-images-idx3-ubyte.gz", "wb") as file:
    file.write(bytes(16 + 784 * 2))
""",
    ("graph.md", "Models", 0): """
images = rd.placeholder(rd.float32, [None, 64, 64, 3])
labels = rd.placeholder(rd.int64, [None])
""",
    ("graph.md", "Recurrent networks", 0): """
x = rd.placeholder(rd.float32, [None, 7, 3])
lengths = rd.placeholder(rd.int64, [None])
""",
    ("graph.md", "Watching a run: TensorBoard", 0): """
x = rd.placeholder(rd.float32, [None, 784])
W = rd.Variable(rd.random_uniform([784, 10], -1, 1))
loss = rd.reduce_mean(rd.matmul(x, W))
train = rd.train.GradientDescentOptimizer(0.1).minimize(loss)
images = np.ones((4, 784), np.float32)
""",
    ("graph.md", "Printing and asserting", 0): "x = y = rd.constant([1.0, 2.0])",
    ("graph.md", "Functions of one's own", 0): "x = rd.constant([1.0, 2.0])",
    ("graph.md", "Functions of one's own", 2): "x = rd.constant([1.0, 2.0])",
    ("graph.md", "Operations of one's own", 0): """
x = rd.constant([1.0, 2.0])
shutil.copy(f"{BUILD}/examples/custom_op.so", "custom_op.so")
""",
    ("cluster.md", "Client and graph", 0): "batch = np.ones((4, 784), np.float32)",
    # The hosts of the text, all here, with the two that others would start.
    ("cluster.md", "Cluster, job, task, server", 0): """
import socket
def address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"
here = rd.train.ClusterSpec({"ps": [address()], "worker": [address(), address()]})
others = [rd.train.Server(here, "ps", 0), rd.train.Server(here, "worker", 1)]
train = types.SimpleNamespace(**{**vars(rd.train), "ClusterSpec": lambda jobs: here})
rd = types.SimpleNamespace(**{**vars(rd), "train": train})
""",
    ("cluster.md", "Parameter servers", 0): """
x = rd.placeholder(rd.float32, [None, 784])
""",
    ("devices.md", "Several devices in one process", 0): """
images = [rd.ones([4, 784])] * 2
labels = [rd.zeros([4], rd.int64)] * 2
def tower(x, y, w):
    return rd.losses.sparse_softmax_cross_entropy(y, rd.matmul(x, w))
""",
    ("python.md", "Python", 0): """
rondo = rd
x = np.ones(4, np.float32)
y = np.ones(4, np.float32)
a, b, c = x.copy(), x.copy(), x.copy()
""",
}


def blocks():
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if path.name == "torch.md":  # those are run by tests/pytorch
            continue
        for part in re.split(r"^#+ ", path.read_text(), flags=re.M)[1:]:
            heading, _, text = part.partition("\n")
            for number, block in enumerate(BLOCK.findall(text)):
                yield path.name, heading, number, block


ALL = list(blocks())


@pytest.mark.parametrize(
    "document, heading, number, block",
    ALL,
    ids=[f"{document}: {heading} {number}" for document, heading, number, _ in ALL],
)
def test_block(document, heading, number, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(op_gradients, "_registered", dict(op_gradients._registered))
    for name in [n for n in os.environ if n.startswith("RONDO_")]:
        monkeypatch.delenv(name)
    rd.reset_default_graph()
    needs = PRELUDE + NEEDS.get((document, heading, number), "")
    if "load_op_library" in block:  # a process can load an operation once
        program = f"BUILD = {str(BUILD)!r}\n{needs}\n{block}"
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        return
    names = {"BUILD": BUILD}
    exec(needs, names)
    exec(compile(block, f"{document}: {heading}", "exec"), names)


def test_needs_are_of_blocks():
    assert NEEDS.keys() <= {key[:3] for key in ALL}
