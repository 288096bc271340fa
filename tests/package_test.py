"""A program outside the tree: it finds the installed package and runs under every
launcher."""

import getpass
import pathlib
import subprocess

import pytest
from labs import needs_root
from ranks import BUILD, clean_env, mpirun

SOURCE = pathlib.Path(__file__).parent / "package"


def run(*command):
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=clean_env(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Rondo installed, over what was there when the lab was one file."""
    folder = tmp_path_factory.mktemp("prefix")
    lab = folder / "libexec/rondo/lab"
    lab.parent.mkdir(parents=True)
    lab.touch()
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


@pytest.fixture(scope="module")
def outside(prefix, tmp_path_factory):
    """The program, built as a user would."""
    folder = tmp_path_factory.mktemp("outside")
    run("cmake", "-S", SOURCE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder)
    return folder / "outside"


def result(ranks):
    return f"outside: {ranks} ranks, i32[3] {ranks} {ranks} {ranks}\n"


def test_alone(outside):
    assert run(outside) == result(1)


def test_rondo_run(prefix, outside):
    assert run(prefix / "bin/rondo", "run", "-n", 3, "--", outside) == (
        "[0] " + result(3)
    )


@needs_root
def test_rondo_lab(prefix):
    command = ["lab", "with", "--hosts", 2, "--", "sh", "-c", "echo $LAB_HOSTS hosts"]
    assert run(prefix / "bin/rondo", *command) == "2 hosts\n"


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpirun(mpi, outside):
    done = mpirun(mpi, 3, outside)
    assert done.returncode == 0, done.stderr
    assert done.stdout == result(3), done.stderr


def test_ssh(prefix, outside, ssh_command):
    hosts = f"localhost:2,{getpass.getuser()}@127.0.0.1:2"
    said = run(
        *(prefix / "bin/rondo", "run", "--hosts", hosts, "--interface", "lo"),
        *("--ssh-command", ssh_command, "--", outside),
    )
    assert said == "[0] " + result(4)
