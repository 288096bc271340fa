"""Operations from shared libraries, built here with the compiler."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import rondo as rd

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
COMPILER = os.environ.get("CXX") or shutil.which("c++") or "g++"


def compiled(source, folder):
    """The shared library of a source, linked as a user's is."""
    library = folder / f"{source.stem}.so"
    # What the build was instrumented with, a library of it must be as well.
    sanitize = [f for f in os.environ.get("CXXFLAGS", "").split() if "sanitize" in f]
    subprocess.run(
        [COMPILER, "-O1", "-fPIC", "-shared", *sanitize]
        + [*rd.sysconfig.get_compile_flags(), source, "-o", library]
        + rd.sysconfig.get_link_flags(),
        check=True,
    )
    return library


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    """The example's library."""
    folder = tmp_path_factory.mktemp("library")
    return compiled(ROOT / "examples" / "custom_op.cc", folder)


@pytest.fixture
def write(tmp_path):
    """write(name, text): the library of a source that the test gives."""

    def make(name, text):
        source = tmp_path / name
        source.write_text(text)
        return compiled(source, tmp_path)

    return make


def test_an_operation_with_kernel_and_gradient(cube):
    ops = rd.load_op_library(cube)
    assert ops.OP_LIST == ["Cube"]
    assert ops.cube.__doc__ == "The third power of every element."
    with rd.Graph().as_default(), rd.Session() as session:
        x = rd.placeholder(rd.float64, [None, 2])
        y = ops.cube(x, name="y")
        assert y.name == "y:0" and y.shape.as_list() == [None, 2]
        (dx,) = rd.gradients(y, x)
        at = np.array([[1.0, -2.0], [0.5, 3.0]])
        got = session.run([y, dx], {x: at})
        assert np.allclose(got[0], at**3)
        assert np.allclose(got[1], 3 * at**2)
        assert ops.cube([1.0, 2.0]).eval().tolist() == [1, 8]


def test_loading_it_again_gives_the_same(cube):
    first, second = rd.load_op_library(cube), rd.load_op_library(str(cube))
    assert first.OP_LIST == second.OP_LIST
    with rd.Graph().as_default(), rd.Session():
        assert second.cube(2.0).eval() == 8


def test_wrong_arguments(cube):
    ops = rd.load_op_library(cube)
    with rd.Graph().as_default():
        with pytest.raises(rd.InvalidArgumentError, match="Cube: missing.*'x'"):
            ops.cube()
        with pytest.raises(rd.InvalidArgumentError, match="Cube: .*'axis'"):
            ops.cube(1.0, axis=0)
        with pytest.raises(rd.InvalidArgumentError, match="expected a floating-point"):
            ops.cube(np.array([1]))


def test_a_kernel_that_refuses(cube):
    ops = rd.load_op_library(cube)
    with rd.Graph().as_default(), rd.Session() as session:
        x = rd.placeholder(rd.float16, [2])
        with pytest.raises(rd.Error, match='Cube ".*expected f32 or f64'):
            session.run(ops.cube(x), {x: np.zeros(2, np.float16)})


def test_in_another_process_and_in_cpp(cube):
    python = subprocess.run(
        [sys.executable, ROOT / "examples" / "custom_op.py", cube],
        capture_output=True,
        text=True,
    )
    assert python.stdout == "loaded Cube\n[ 1.  8. 27.] [ 3. 12. 27.]\n", python.stderr
    program = BUILD / "examples" / "custom_op_main"
    done = subprocess.run([program, cube], capture_output=True, text=True)
    assert done.stdout == "loaded Cube\nf32[3] 1 8 27\nf32[3] 3 12 27\n", done.stderr
    missing = subprocess.run([program, "none.so"], capture_output=True, text=True)
    assert missing.returncode == 1
    assert "custom_op: cannot load none.so" in missing.stderr


def test_a_missing_file(tmp_path):
    with pytest.raises(rd.InvalidArgumentError, match="cannot load .*no.so: "):
        rd.load_op_library(tmp_path / "no.so")
    with pytest.raises(rd.InvalidArgumentError, match="cannot load libc.so.6: "):
        rd.load_op_library("libc.so.6")  # not in this folder
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(rd.InvalidArgumentError, match="cannot load .*text.so: "):
        rd.load_op_library(tmp_path / "text.so")


def test_a_library_of_something_else(write):
    with pytest.raises(rd.InvalidArgumentError, match="it has no RONDO_OP_LIBRARY"):
        rd.load_op_library(write("other.cc", "int x;"))


def test_another_version(write):
    text = """
    extern "C" int rondo_op_library_version() { return 1000000; }
    extern "C" void rondo_op_library(void*) { __builtin_trap(); }
    """
    with pytest.raises(rd.InvalidArgumentError, match="version 1000000 of Rondo's"):
        rd.load_op_library(write("version.cc", text))


def test_a_name_that_is_taken_adds_nothing(write):
    text = """
    #include <rondo/kernels/op_library.h>
    using namespace rondo;
    static Status infer(InferContext& c) {
      c.output(c.dtype(0), c.shape(0));
      return {};
    }
    RONDO_OP_LIBRARY(library) {
      library.add_op({.name = "NewName", .doc = "New.", .inputs = {{"x"}},
                      .outputs = {"y"}, .infer = infer});
      library.add_op({.name = "Relu", .doc = "Not new.", .inputs = {{"x"}},
                      .outputs = {"y"}, .infer = infer});
    }
    """
    taken = write("taken.cc", text)
    with pytest.raises(rd.Error, match='there is an operation "Relu" already'):
        rd.load_op_library(taken)
    from rondo import _core

    assert _core.operation("NewName") is None


def test_a_library_that_fails(write):
    text = """
    #include <rondo/kernels/op_library.h>
    RONDO_OP_LIBRARY(library) {
      library.add_kernel("NoSuchOperation", "cpu", nullptr);
    }
    """
    with pytest.raises(rd.Error, match='"NoSuchOperation", which is no operation'):
        rd.load_op_library(write("kernel.cc", text))
    text = """
    #include <rondo/kernels/op_library.h>
    RONDO_OP_LIBRARY(library) {
      throw rondo::Error(rondo::Code::kUnavailable, "no such device");
    }
    """
    with pytest.raises(rd.UnavailableError, match="throws.so: no such device"):
        rd.load_op_library(write("throws.cc", text))
