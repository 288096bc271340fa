"""init_process_group("rondo") under each launcher."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RONDO = ROOT / "build" / "rondo"
PROGRAM = """
import os
import torch, rondo.torch
import torch.distributed as dist
dist.init_process_group("rondo")
x = torch.tensor([1.0 + dist.get_rank()])
dist.all_reduce(x)
# One write, so that lines of several ranks do not mix.
os.write(1, f"sum {x.item()} of {dist.get_world_size()}\\n".encode())
dist.destroy_process_group()
"""

LAUNCHERS = {
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    + ["--nproc-per-node", "2"],
    "rondo": [RONDO, "run", "-n", "2", "--", sys.executable],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
    + ["--bind-to", "none", "-n", "2", sys.executable],
    "mpich": ["mpirun.mpich", "-n", "2", sys.executable],
}


def start(launcher, program):
    starters = ("RONDO_", "OMPI_", "PMI_", "SLURM_", "MASTER_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(starters)}
    done = subprocess.run(
        [*map(str, LAUNCHERS[launcher]), program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**env, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launcher(launcher, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = start(launcher, program)
    assert said.count("sum 3.0 of 2") == 2, said


def test_the_program_of_the_docs(tmp_path):
    text = (ROOT / "docs" / "torch.md").read_text()
    source = text.partition("```python\n")[2].partition("```")[0]
    assert source.count("\n") < 30
    program = tmp_path / "train.py"
    program.write_text(source)
    losses = re.findall(r"epoch \d: loss ([0-9.]+)", start("rondo", program))
    assert len(losses) == 3 and float(losses[2]) < float(losses[0]), losses
