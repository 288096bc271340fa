"""init_process_group("rondo") under each launcher."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from ports import free_port

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

# A rank that ends while its work is under way tells the other, and callbacks run.
UNDER_WAY = """
import os
import torch, rondo.torch
import torch.distributed as dist
dist.init_process_group("rondo")
if dist.get_rank() == 0:
    works = [dist.all_reduce(torch.ones(4), async_op=True), dist.irecv(torch.ones(4))]
    for work in works:
        work.get_future().then(lambda future: os.write(1, b"callback\\n"))
else:
    try:
        dist.recv(torch.ones(4), 0)
    except dist.DistBackendError as error:
        os.write(1, f"{'has closed' in str(error)}\\n".encode())
"""
AGAIN = """
import os
import torch, rondo.torch
import torch.distributed as dist
for backend in ("rondo", "gloo", "rondo"):
    dist.init_process_group(backend)
    x = torch.ones(1)
    dist.all_reduce(x)
    dist.destroy_process_group()
os.write(1, f"sum {x.item()}\\n".encode())
"""
TOLD = """
import os
import rondo.torch
import torch.distributed as dist
dist.init_process_group("rondo", rank=1 - int(os.environ["RONDO_RANK"]), world_size=2)
os.write(1, f"{os.environ['RONDO_RANK']} is {dist.get_rank()}\\n".encode())
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


def environment():
    """This one, as if no job were around it."""
    starters = ("RONDO_", "OMPI_", "PMI_", "SLURM_", "MASTER_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(starters)}
    return {**env, "OMP_NUM_THREADS": "1"}


def start(launcher, program, *args):
    done = subprocess.run(
        [*map(str, LAUNCHERS[launcher]), program, *args],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launcher(launcher, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = start(launcher, program)
    assert said.count("sum 3.0 of 2") == 2, said


def test_slurm(tmp_path):
    """What srun sets for the tasks of a step on one node."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    port = next(p for p in iter(free_port, None) if p >= 20_000)
    step = {"SLURM_JOB_ID": "0", "SLURM_STEP_ID": str(port - 20_000)}
    step |= {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "node7"}
    tasks = [
        subprocess.Popen(
            [sys.executable, program],
            stdout=subprocess.PIPE,
            text=True,
            env={**environment(), **step, "SLURM_PROCID": i, "SLURM_LOCALID": i},
        )
        for i in "01"
    ]
    for task in tasks:
        said, _ = task.communicate(timeout=100)
        assert said == "sum 3.0 of 2\n" and task.returncode == 0


@pytest.mark.parametrize(
    "source, lines",
    [
        (UNDER_WAY, ["True", "callback", "callback"]),
        (AGAIN, ["sum 2.0", "sum 2.0"]),
        (TOLD, ["0 is 1", "1 is 0"]),
    ],
    ids=["ends_with_work_under_way", "init_again", "told_its_rank"],
)
def test_program(source, lines, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(source)
    said = re.sub(r"^\[\d\] ", "", start("rondo", program), flags=re.MULTILINE)
    assert sorted(said.splitlines()) == lines, said


def test_the_program_of_the_docs(tmp_path):
    text = (ROOT / "docs" / "torch.md").read_text()
    source = text.partition("```python\n")[2].partition("```")[0]
    assert source.count("\n") < 30
    program = tmp_path / "train.py"
    program.write_text(source)
    losses = re.findall(r"epoch \d: loss ([0-9.]+)", start("rondo", program))
    assert len(losses) == 3 and float(losses[2]) < float(losses[0]), losses
