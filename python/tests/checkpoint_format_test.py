"""Checkpoints that others read and write: safetensors, and C++ programs."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
import safetensors.numpy
from checkpoints import damage

import rondo as rd

pytestmark = pytest.mark.usefixtures("graph")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


def checkpoint_program(*args):
    return subprocess.run(
        [BUILD / "tests" / "checkpoint", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_cpp_runs_what_python_saved(path):
    x = rd.placeholder(rd.float32, [None], name="x")
    w = rd.Variable(2.0, name="w")
    layer = rd.Variable([10.0, 20.0], name="layer/b")
    rd.add(x * w, layer, name="y")
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        session.run(w.assign(4.0))
        name = rd.train.Saver().save(session, path, global_step=3)
    done = checkpoint_program("run", name, 1.5)
    assert (done.stdout, done.stderr) == ("f32[2] 16 26\n", "")
    damage(pathlib.Path(name + ".safetensors"), "corrupt")
    done = checkpoint_program("run", name, 1.5)
    assert done.returncode == 1 and "checksum" in done.stderr


def test_python_runs_what_cpp_saved(path):
    assert checkpoint_program("save", path).stdout == path + "\n"
    saver = rd.train.import_meta_graph(path + ".meta")
    with rd.Session() as session:
        saver.restore(session, path)
        assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [3.5, 6.5]
        session.run(rd.global_variables_initializer())
        assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [3, 6]


def array_of(dtype):
    kind = rd.as_dtype(dtype).as_numpy_dtype
    return (
        np.arange(6).reshape(2, 3) % 2
        if dtype == "bool"
        else np.arange(6).reshape(2, 3) * 3 - 2 * (dtype != "uint8")
    ).astype(kind)


def test_safetensors_reads_ours(path):
    arrays = {f"of/{name}": array_of(name) for name in DTYPES}
    for name, array in arrays.items():
        rd.Variable(array, name=name)
    scalar = rd.Variable(np.float32(5), name="scalar")
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        rd.train.Saver().save(session, path)
    got = safetensors.numpy.load_file(path + ".safetensors")
    assert got.keys() == {*arrays, scalar.op.name}
    for name, array in arrays.items():
        assert got[name].shape == array.shape
        assert got[name].tobytes() == array.tobytes()
        if "bfloat16" not in name:
            assert got[name].dtype == array.dtype
    assert got["scalar"].shape == () and got["scalar"] == 5
    with safetensors.safe_open(path + ".safetensors", "np") as file:
        assert file.metadata()["format"] == "rondo"


def test_we_read_those_of_safetensors(path):
    arrays = {n: array_of(n) for n in DTYPES if n != "bfloat16"}
    arrays["empty"] = np.zeros((0, 2), np.float32)
    foreign = {**arrays, "unsigned": np.ones(3, np.uint32)}
    safetensors.numpy.save_file(foreign, path + ".safetensors", metadata={"a": "b"})
    shapes = dict(rd.train.list_variables(path))
    assert shapes == {n: list(a.shape) for n, a in foreign.items()}
    variables = {n: rd.Variable(np.zeros_like(a)) for n, a in arrays.items()}
    with rd.Session() as session:
        rd.train.Saver(variables).restore(session, path)
        got = session.run(variables)
    for name, array in arrays.items():
        assert got[name].dtype == array.dtype
        assert got[name].tobytes() == array.tobytes()
    with pytest.raises(rd.Error, match="U32, a type that Rondo does not have"):
        rd.train.load_variable(path, "unsigned")
