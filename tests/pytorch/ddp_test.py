"""DDP in C++ beside DDP in Python, as processes; the rest is tested beside the
source (distributed_data_parallel_test.cc)."""

import re
import subprocess

import pytest
import torch
from launchers_test import RONDO, ROOT, environment
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import run

BUILD = ROOT / "build"
TRAINER = BUILD / "tests" / "ddp_trainer"
STEPS, BATCH = 50, 16


class Net(nn.Module):
    """ddp_trainer.cc's."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.hidden = nn.Linear(4 * 6 * 6, 32)
        self.out = nn.Linear(32, 10)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu().flatten(1)
        return self.out(self.hidden(x).relu())


def _inputs():
    torch.manual_seed(3)
    net = Net()
    x = torch.randn(STEPS, BATCH, 1, 8, 8)
    return net, x, (x.flatten(2).mean(-1) > 0).long()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    net, x, y = _inputs()
    path = tmp_path_factory.mktemp("ddp") / "inputs"
    with path.open("wb") as f:
        for tensor in (*net.parameters(), x, y):
            f.write(tensor.detach().float().numpy().tobytes())
    return path


def rondo_run(ranks, *command, options=(), check=True):
    done = subprocess.run(
        [*map(str, [RONDO, "run", "-n", ranks, *options, "--", *command])],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment(),
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def _losses(text):
    found = re.findall(r"rank (\d+) step (\d+): loss (\S+)", text)
    return {(int(rank), int(step)): float(loss) for rank, step, loss in found}


def _train(rank, size):
    net, x, y = _inputs()
    ddp = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.05, momentum=0.9)

    def step(x, y, halves):
        half = len(x) // 2 if halves else 0
        if halves:
            with ddp.no_sync():
                nn.functional.cross_entropy(ddp(x[:half]), y[:half]).backward()
        loss = nn.functional.cross_entropy(ddp(x[half:]), y[half:])
        loss.backward()
        return loss.item()

    losses = {}
    for i in range(STEPS):
        optimizer.zero_grad()
        mine = slice(rank, None, size)
        losses[rank, i] = step(x[i, mine], y[i, mine], i % 5 == 4)
        optimizer.step()
    return losses


def test_losses_are_those_of_python(file):
    in_python = {}
    for losses in run(2, _train):
        in_python.update(losses)
    in_cpp = _losses(rondo_run(2, TRAINER, file).stdout)
    assert len(in_cpp) == 2 * STEPS
    assert in_cpp == pytest.approx(in_python, rel=1e-4)
    # There was something to learn.
    assert in_cpp[0, STEPS - 1] < 0.8 * in_cpp[0, 0]


def test_a_killed_rank(file):
    # The launcher leaves the others alone, so that they say what they see.
    done = rondo_run(3, TRAINER, file, 1, options=["--min-ranks", 1], check=False)
    assert done.returncode != 0
    for rank in (0, 2):
        text = rf"DistributedDataParallel: rank {rank}: [a-z ]*: .*\brank 1\b"
        assert re.search(text, done.stderr), done.stderr
    assert _losses(done.stdout).keys() >= {(0, STEPS // 2 - 1), (2, STEPS // 2 - 1)}
    assert all(step < STEPS // 2 for _, step in _losses(done.stdout))


def test_fashion_mnist():
    example = BUILD / "examples" / "torch_fashion_mnist"
    said = rondo_run(2, example, 2, 6000).stdout
    right = [float(one) for one in re.findall(r"epoch \d: (\S+) % right", said)]
    assert len(right) == 2 and right[1] > 65, said


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Rondo installed, with what is for libtorch."""
    folder = tmp_path_factory.mktemp("prefix")
    for component in ([], ["--component", "torch"]):
        command = ["cmake", "--install", BUILD, "--prefix", folder, *component]
        subprocess.run(command, check=True, capture_output=True, timeout=100)
    return folder


@pytest.mark.parametrize("kind", ["COMPONENTS", "OPTIONAL_COMPONENTS"])
def test_the_package_without_pytorch(prefix, tmp_path, kind):
    """Rondo is found without it, unless what needs it is asked for."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(none LANGUAGES CXX)\n"
        f"find_package(rondo REQUIRED {kind} torch)\n"
        'message(STATUS "rondo: ${rondo_FOUND}, torch: ${rondo_torch_FOUND}")\n'
    )
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON"]
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "out", *options]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if kind == "COMPONENTS":
        assert done.returncode != 0 and "Torch" in done.stderr
    else:
        assert "rondo: 1, torch: \n" in done.stdout, done.stdout + done.stderr


# PyTorch's headers take their time.
@pytest.mark.timeout(900)
def test_the_program_of_the_docs(prefix, tmp_path):
    """Outside the tree, built as a user would."""
    text = (ROOT / "docs" / "torch.md").read_text()
    for language, name in (("cpp", "train.cc"), ("cmake", "CMakeLists.txt")):
        source = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]
        assert source.count("\n") < 30
        (tmp_path / name).write_text(source)
    paths = f"{prefix};{torch.utils.cmake_prefix_path}"
    for command in (
        ["-S", tmp_path, "-B", tmp_path / "out", f"-DCMAKE_PREFIX_PATH={paths}"],
        ["--build", tmp_path / "out"],
    ):
        done = subprocess.run(
            ["cmake", *map(str, command)], capture_output=True, text=True, timeout=800
        )
        assert done.returncode == 0, done.stdout + done.stderr
    said = rondo_run(2, tmp_path / "out" / "train").stdout
    losses = re.findall(r"epoch \d: loss ([0-9.]+)", said)
    assert len(losses) == 3 and float(losses[2]) < float(losses[0]), said
