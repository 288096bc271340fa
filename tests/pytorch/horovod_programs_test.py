"""Horovod's scripts under each launcher: the examples, and the docs' program."""

import re
import subprocess
import sys

import pytest
from launchers_test import LAUNCHERS, ROOT, start

PROGRAM = """
import os
import torch
import rondo.torch as hvd
hvd.init()
x = hvd.allreduce(torch.tensor([1.0 + hvd.rank()]), op=hvd.Sum)
# One write, so that lines of several ranks do not mix.
os.write(1, f"sum {x.item()} of {hvd.size()} on {hvd.local_size()}\\n".encode())
"""
BESIDE = """
import torch.distributed as dist
dist.init_process_group("rondo")
x = torch.ones(1)
dist.all_reduce(x)
y = hvd.allreduce(x, op=hvd.Sum)
dist.destroy_process_group()
os.write(1, f"{x.item()} then {y.item()}\\n".encode())
"""


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launcher(launcher, tmp_path):
    """Also beside torch.distributed's own groups."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + BESIDE)
    said = start(launcher, program)
    assert said.count("sum 3.0 of 2 on 2") == 2, said
    assert said.count("2.0 then 4.0") == 2, said


def test_without_a_launcher(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=100
    )
    assert said.stdout == "sum 1.0 of 1 on 1\n", said.stderr


def test_the_program_of_the_docs(tmp_path):
    text = (ROOT / "docs" / "torch.md").read_text()
    sources = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    source = next(one for one in sources if "import rondo.torch as hvd" in one)
    assert source.count("\n") < 30
    program = tmp_path / "train.py"
    program.write_text(source)
    losses = re.findall(r"epoch \d: loss ([0-9.]+)", start("rondo", program))
    assert len(losses) == 3 and float(losses[2]) < float(losses[0]), losses


def test_mnist():
    program = ROOT / "examples" / "horovod_mnist.py"
    args = ["--epochs", "1", "--samples", "1000", "--fp16-allreduce"]
    said = start("rondo", program, *args)
    accuracy = float(re.search(r"epoch 0: accuracy ([0-9.]+)", said).group(1))
    assert accuracy > 0.5, said


def test_benchmark():
    program = ROOT / "examples" / "horovod_benchmark.py"
    said = start("rondo", program, "--width", "4", "--num-iters", "1")
    assert re.search(r"[1-9][0-9.]* pictures/s on 2 ranks", said), said
