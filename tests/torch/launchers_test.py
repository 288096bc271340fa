"""init_process_group("rondo") under each launcher."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RONDO = ROOT / "build" / "rondo"
PROGRAM = """
import torch, rondo.torch
import torch.distributed as dist
dist.init_process_group("rondo")
x = torch.tensor([1.0 + dist.get_rank()])
dist.all_reduce(x)
print("sum", x.item(), "of", dist.get_world_size(), flush=True)
dist.destroy_process_group()
"""

LAUNCHERS = {
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    + ["--nproc-per-node", "2"],
    "rondo": [RONDO, "run", "-n", "2", "--", sys.executable],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    + [sys.executable],
    "mpich": ["mpirun.mpich", "-n", "2", sys.executable],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launcher(launcher, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
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
    assert done.stdout.count("sum 3.0 of 2") == 2, done.stdout + done.stderr
