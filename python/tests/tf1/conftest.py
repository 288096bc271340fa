"""Small files as MNIST's are, and scripts in processes of their own."""

import gzip
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

SCRIPTS = pathlib.Path(__file__).parent / "scripts"


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(
        int(n).to_bytes(4, "big") for n in array.shape
    )
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header + array.tobytes())


@pytest.fixture(scope="session")
def mnist(tmp_path_factory):
    """A folder with the four files: 10 patterns with noise, of which a linear model
    learns to tell the classes in a few steps."""
    folder = tmp_path_factory.mktemp("mnist")
    rng = np.random.default_rng(0)
    # Patterns of 7 x 7 patches, so that convolutions have something to see.
    patterns = rng.random((10, 7, 7)) > 0.6
    patterns = patterns.repeat(4, 1).repeat(4, 2)
    for part, count in (("train", 5600), ("t10k", 300)):
        labels = rng.integers(0, 10, count)
        images = patterns[labels] * 160 + rng.integers(0, 90, (count, 28, 28))
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", images.astype(np.uint8))
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", labels.astype(np.uint8))
    return folder


class Ran:
    """What a script printed."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def text(self, label):
        """What is behind the last "label:"."""
        found = re.findall(rf"^{re.escape(label)}[:=] ?(.*)$", self.out, re.M)
        assert found, f"no {label!r} in:\n{self.out}\n{self.err}"
        return found[-1].strip()

    def number(self, label):
        return float(re.match(r"[-+0-9.e]+", self.text(label)).group())


def changed_import(source):
    """The script with another import, and nothing else."""
    source = source.replace("import tensorflow as tf", "import rondo.tf1 as tf")
    source = re.sub(r"^from tensorflow\.", "from rondo.tf1.", source, flags=re.M)
    return re.sub(r"^import tensorflow\.", "import rondo.tf1.", source, flags=re.M)


def _on_one_core():
    """Scripts are small: threads that wait for each other cost more than they
    save where other tests run beside them."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


@pytest.fixture(params=["changed import", "unchanged"])
def run_script(request, tmp_path):
    """run_script(name, *arguments): the script in a process, both ways."""

    def run(name, *arguments, expect=0):
        script = SCRIPTS / f"{name}.py"
        command = [sys.executable]
        if request.param == "unchanged":
            command += ["-m", "rondo.tf1", str(script)]
        else:
            copy = tmp_path / script.name
            copy.write_text(changed_import(script.read_text()))
            assert "tensorflow" not in re.sub('"[^"]*"', "", copy.read_text()).replace(
                "TensorFlow", ""
            ), "an import is left"
            command.append(str(copy))
        process = subprocess.run(
            [*command, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=280,
            cwd=tmp_path,
            preexec_fn=_on_one_core,
        )
        ran = Ran(process)
        assert ran.code == expect, (
            f"{name} ended with {ran.code}:\n{ran.out}\n{ran.err}"
        )
        return ran

    return run
