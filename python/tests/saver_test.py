"""Checkpoints: saved, restored, kept, removed; bad ones refused."""

import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.numpy

import rondo as rd

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


@pytest.fixture(autouse=True)
def graph():
    with rd.Graph().as_default() as made:
        yield made


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model")


def model(value=1.0, n=4):
    """A session of two variables."""
    w = rd.Variable(np.full(n, value, np.float32), name="w")
    step = rd.Variable(np.int64(7), name="step", trainable=False)
    session = rd.Session()
    session.run(rd.global_variables_initializer())
    return session, w, step


def test_save_and_restore(path, tmp_path):
    session, w, step = model()
    saver = rd.train.Saver()
    assert saver.save(session, path, global_step=step) == path + "-7"
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model-7.meta",
        "model-7.safetensors",
    ]
    assert rd.train.latest_checkpoint(tmp_path) == path + "-7"
    assert rd.train.checkpoint_exists(path + "-7")
    assert not rd.train.checkpoint_exists(path)
    session.run(w.assign_add(np.ones(4)))
    saver.restore(session, path + "-7")
    assert session.run(w).tolist() == [1, 1, 1, 1]
    # Into a session whose variables have no values.
    other = rd.Session()
    saver.restore(other, rd.train.latest_checkpoint(tmp_path))
    assert other.run([w, step])[1] == 7


def test_what_is_in_it(path, tmp_path):
    session, *_ = model()
    rd.train.Saver().save(session, path)
    for where in (path, tmp_path, path + ".safetensors"):
        assert rd.train.list_variables(where) == [("step", []), ("w", [4])]
        assert rd.train.load_variable(where, "w").tolist() == [1, 1, 1, 1]
    reader = rd.train.load_checkpoint(path)
    assert reader.has_tensor("step") and not reader.has_tensor("x")
    assert reader.get_variable_to_dtype_map() == {"w": "float32", "step": "int64"}
    with pytest.raises(rd.Error, match='has no tensor "x"'):
        rd.train.load_variable(path, "x")
    with pytest.raises(rd.Error, match="there is no checkpoint in"):
        rd.train.list_variables(tmp_path / "..")


def test_some_variables_and_other_names(path):
    session, w, step = model()
    rd.train.Saver([w]).save(session, path)
    assert rd.train.list_variables(path) == [("w", [4])]
    rd.train.Saver({"weights": w, "n": step}).save(session, path)
    assert rd.train.list_variables(path) == [("n", []), ("weights", [4])]
    v = rd.Variable(np.zeros(4, np.float32), name="v")
    rd.train.Saver({"weights": v}).restore(session, path)
    assert session.run(v).tolist() == [1, 1, 1, 1]


def test_arguments(path, graph):
    with pytest.raises(rd.InvalidArgumentError, match="no variables"):
        rd.train.Saver()
    empty = rd.train.Saver(allow_empty=True)
    later = rd.train.Saver(defer_build=True)
    session, w, step = model()
    assert empty.save(session, path) is None
    with pytest.raises(rd.InvalidArgumentError, match="build"):
        later.save(session, path)
    later.build()
    assert later.save(session, path, write_meta_graph=False) == path
    assert not os.path.exists(path + ".meta")
    with pytest.raises(rd.InvalidArgumentError, match="not a rondo.Variable"):
        rd.train.Saver([rd.constant(1)])
    with pytest.raises(rd.InvalidArgumentError, match="two variables"):
        rd.train.Saver([w, w])
    with pytest.raises(rd.InvalidArgumentError, match="None"):
        later.restore(session, None)
    with pytest.raises(rd.InvalidArgumentError, match="there is no checkpoint"):
        later.restore(session, path + "-none")
    with pytest.raises(rd.InvalidArgumentError, match="there is no folder"):
        later.save(session, path + "/none/model")
    with rd.Graph().as_default():
        other, *_ = model()
    with pytest.raises(rd.InvalidArgumentError, match="session's graph"):
        later.save(other, path)
    session.close()
    with pytest.raises(rd.InvalidArgumentError, match="closed"):
        later.save(session, path)
    with pytest.raises(rd.InvalidArgumentError, match="not a rondo.Session"):
        later.save(3, path)


def test_old_ones_go(path, tmp_path):
    session, w, _ = model()
    saver = rd.train.Saver(max_to_keep=2, pad_step_number=True)
    for step in range(4):
        saver.save(session, path, global_step=step)
    kept = [path + "-00000002", path + "-00000003"]
    assert saver.last_checkpoints == kept
    assert len(os.listdir(tmp_path)) == 5
    state = rd.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == kept[1]
    assert state.all_model_checkpoint_paths == kept
    again = rd.train.Saver(max_to_keep=2, pad_step_number=True)
    again.recover_last_checkpoints([path + "-gone", *kept])
    again.save(session, path, global_step=4)
    assert again.last_checkpoints == [kept[1], path + "-00000004"]
    assert not rd.train.checkpoint_exists(kept[0])
    unbounded = rd.train.Saver(max_to_keep=None)
    for step in range(7):
        unbounded.save(session, path, global_step=step, latest_filename="all")
    assert len(rd.train.get_checkpoint_state(tmp_path, "all").__dict__) == 4
    assert len(unbounded.last_checkpoints) == 7
    assert rd.train.get_checkpoint_state(tmp_path, "none") is None
    (tmp_path / "checkpoint").write_text("nonsense")
    with pytest.raises(rd.Error, match="no whole list"):
        rd.train.latest_checkpoint(tmp_path)


def damage(file, how):
    data = bytearray(file.read_bytes())
    if how == "truncated":
        del data[-5:]
    elif how == "cut in the header":
        del data[20:]
    elif how == "empty":
        del data[:]
    elif how == "corrupt":
        data[-2] ^= 0x10
    elif how == "no file of ours":
        data[:] = b"\x80\x02}q\x00." * 100
    file.write_bytes(data)


@pytest.mark.parametrize(
    "how", ["truncated", "cut in the header", "empty", "corrupt", "no file of ours"]
)
def test_damaged(path, how):
    session, w, step = model()
    saver = rd.train.Saver()
    saver.save(session, path)
    session.run([w.assign_add(np.ones(4)), step.assign_add(1)])
    damage(pathlib.Path(path + ".safetensors"), how)
    match = "checksum" if how == "corrupt" else "no whole safetensors file"
    with pytest.raises(rd.InvalidArgumentError, match=match) as failure:
        saver.restore(session, path)
    assert path in str(failure.value)
    assert session.run([w, step])[0].tolist() == [2, 2, 2, 2]
    assert session.run(step) == 8
    saver.save(session, path)
    saver.restore(session, path)


def test_of_another_model(path):
    session, w, step = model()
    saver = rd.train.Saver()
    saver.save(session, path)
    with rd.Graph().as_default():
        v = rd.Variable(np.zeros(4, np.float32), name="v")
        w = rd.Variable(np.zeros(4, np.float32), name="w")
        other = rd.Session()
        other.run(rd.global_variables_initializer())
        match = 'another model: 1 of 2 tensors are not in it: "v"; .* "step"'
        with pytest.raises(rd.InvalidArgumentError, match=match):
            rd.train.Saver().restore(other, path)
        assert other.run(w).tolist() == [0, 0, 0, 0]
        x = rd.Variable(np.zeros((2, 2), np.float32), name="x")
        match = r'"w" is f32 \[4\] in it, expected f32 \[2, 2\]'
        with pytest.raises(rd.InvalidArgumentError, match=match):
            rd.train.Saver({"w": x}).restore(other, path)
        rd.train.Saver({"w": x}, reshape=True).restore(other, path)
        assert other.run(x).tolist() == [[1, 1], [1, 1]]
        y = rd.Variable(np.zeros(4, np.int32), name="y")
        match = r'"w" is f32 \[4\] in it, expected i32 \[4\]'
        with pytest.raises(rd.InvalidArgumentError, match=match):
            rd.train.Saver({"w": y}).restore(other, path)
        assert other.run(v).tolist() == [0, 0, 0, 0]


def test_no_room(path, tmp_path):
    session, w, _ = model(n=1 << 20)
    saver = rd.train.Saver()
    saver.save(session, path, write_meta_graph=False)
    session.run(w.assign_add(np.ones(1 << 20)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(rd.ResourceError, match="cannot write .*model.safetensors"):
            saver.save(session, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "model.safetensors"]
    saver.restore(session, path)
    assert session.run(w)[0] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_a_full_disk(tmp_path):
    session, w, _ = model(n=1 << 20)
    saver = rd.train.Saver()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(tmp_path)]
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a tmpfs here")
    try:
        saver.save(session, tmp_path / "a", write_meta_graph=False)
        with pytest.raises(rd.ResourceError, match="No space left on device"):
            saver.save(session, tmp_path / "a", write_meta_graph=False)
        with pytest.raises(rd.ResourceError, match="No space left on device"):
            saver.save(session, tmp_path / "b")
        assert sorted(os.listdir(tmp_path)) == ["a.safetensors", "checkpoint"]
        saver.restore(session, rd.train.latest_checkpoint(tmp_path))
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert session.run(w)[0] == 1


def test_no_permission():
    session, *_ = model()
    with pytest.raises(rd.PermissionError, match="cannot create /sys/model"):
        rd.train.Saver().save(session, "/sys/model")  # where not even root may


SAVES_FOR_EVER = """
import sys
import numpy as np
import rondo as rd
w = rd.Variable(np.zeros(1 << 20, np.float32), name="w")
v = rd.Variable(np.zeros(1 << 18, np.float64), name="v")
more = [w.assign_add(np.ones(1 << 20)), v.assign_add(np.ones(1 << 18))]
saver = rd.train.Saver()
with rd.Session() as session:
    session.run(rd.global_variables_initializer())
    while True:
        saver.save(session, sys.argv[1])
        print("saved", flush=True)
        session.run(more)
"""


def test_killed_while_saving(path, tmp_path):
    w = rd.Variable(np.zeros(1 << 20, np.float32), name="w")
    v = rd.Variable(np.zeros(1 << 18, np.float64), name="v")
    session, saver = rd.Session(), rd.train.Saver()
    moments = random.Random(1)
    for _ in range(8):
        program = subprocess.Popen(
            [sys.executable, "-c", SAVES_FOR_EVER, path], stdout=subprocess.PIPE
        )
        saved = 0
        for _ in range(2):
            saved += program.stdout.readline() == b"saved\n"
        time.sleep(moments.uniform(0, 0.05))  # any moment of a save will do
        program.send_signal(signal.SIGKILL)
        saved += program.stdout.read().count(b"saved\n")
        program.wait()
        program.stdout.close()
        saver.restore(session, path)
        got_w, got_v = session.run([w, v])
        assert (got_w == got_w[0]).all() and (got_v == got_w[0]).all()
        assert got_w[0] in (saved - 1, saved)
        # The list of checkpoints and the graph are whole as well.
        assert rd.train.latest_checkpoint(tmp_path) == path
        with rd.Graph().as_default():
            rd.train.import_meta_graph(path + ".meta")


def test_training_goes_on_in_another_process(path, tmp_path):
    x = rd.placeholder(rd.float32, [None, 3], name="x")
    y = rd.layers.dense(x, 2)
    loss = rd.reduce_mean(rd.square(y), name="loss")
    step = rd.train.get_or_create_global_step()
    train = rd.train.AdamOptimizer(0.1).minimize(loss, step, name="train")
    rd.add_to_collection("losses", loss)
    saver = rd.train.Saver()
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: data})
        saver.save(session, path, global_step=step)
        for _ in range(3):
            session.run(train, {x: data})
        want = session.run(loss, {x: data})
    program = """
import sys
import numpy as np
import rondo as rd
latest = rd.train.latest_checkpoint(sys.argv[1])
saver = rd.train.import_meta_graph(latest + ".meta")
graph = rd.get_default_graph()
data = np.arange(12, dtype=np.float32).reshape(4, 3)
with rd.Session() as session:
    saver.restore(session, latest)
    train = graph.get_operation_by_name("train/update")
    (loss,) = rd.get_collection("losses")
    for _ in range(3):
        session.run(train, {"x:0": data})
    trainable = sorted(v.op.name for v in rd.trainable_variables())
    step = session.run(rd.train.get_global_step())
    print(repr(float(session.run(loss, {"x:0": data}))), step, trainable)
    session.run(rd.global_variables_initializer())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{float(want)!r} 6 ['dense/bias', 'dense/kernel']\n"


def test_meta_graphs(path, graph):
    session, w, _ = model()
    with rd.device("/cpu:0"):
        rd.identity(w, name="y")
    data = rd.train.export_meta_graph()
    rd.train.export_meta_graph(path, graph=graph)
    with pytest.raises(rd.InvalidArgumentError, match='has a node "'):
        rd.train.import_meta_graph(data)
    for what in (data, path):
        with rd.Graph().as_default() as other:
            with rd.name_scope("somewhere"):
                saver = rd.train.import_meta_graph(what, clear_devices=True)
            assert len(saver.last_checkpoints) == 0
            y = other.get_operation_by_name("y")
            assert y.device == ""
            with rd.Session() as session:
                session.run(rd.global_variables_initializer())
                assert session.run("y:0").tolist() == [1, 1, 1, 1]
                v = rd.global_variables()[0]
                session.run(v.assign_add(np.ones(4)))
                assert session.run(v).tolist() == [2, 2, 2, 2]
    with rd.Graph().as_default():
        rd.constant(1, name="one")
        plain = rd.train.export_meta_graph()
    with rd.Graph().as_default():
        assert rd.train.import_meta_graph(plain) is None
    with pytest.raises(rd.Error, match="cannot read"):
        rd.train.import_meta_graph(path + "-none")


def test_a_meta_graph_is_added_whole_or_not_at_all():
    with rd.Graph().as_default():
        rd.constant(1.0, name="first")
        rd.constant(2.0, name="layer")
        rd.Variable(3.0, name="v")
        data = rd.train.export_meta_graph()
    with rd.Graph().as_default() as graph:
        with rd.name_scope("layer"):
            rd.constant(0.0)
        before = [op.name for op in graph.get_operations()]
        with pytest.raises(rd.InvalidArgumentError, match='"layer": a scope of the'):
            rd.train.import_meta_graph(data)
        assert [op.name for op in graph.get_operations()] == before
        assert rd.global_variables() == []
        assert rd.constant(0.0, name="first").op.name == "first"


def test_a_meta_graph_within_a_scope(path, graph):
    session, w, _ = model()
    session.run(w.assign(np.full(4, 7)))
    x = rd.placeholder(rd.float32, [4], name="x")
    queue = rd.FIFOQueue(3, [rd.float32], [[4]], name="queue")
    rd.group(queue.enqueue([x]), name="put")
    rd.identity(queue.dequeue(), name="got")
    loop = rd.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + w), [0, x])
    rd.identity(loop[1], name="looped")
    train = rd.train.MomentumOptimizer(0.5, 0.9).minimize(rd.reduce_sum(w * x))
    session.run(rd.variables_initializer(rd.global_variables()[-1:]))
    name = rd.train.Saver().save(session, path)
    with graph.as_default():
        saver = rd.train.import_meta_graph(name + ".meta", import_scope="copy")
        copies = [v for v in rd.global_variables() if v.name.startswith("copy/")]
    # The old and the new one are apart: variables, slots, queues and loops.
    with rd.Session(graph=graph) as both:
        both.run([v.initializer for v in rd.global_variables()])
        saver.restore(both, name)
        ones = np.ones(4, np.float32)
        assert both.run(copies[0]).tolist() == [7] * 4
        assert both.run(w).tolist() != [7] * 4
        before = both.run(w)
        both.run("copy/" + train.name, {"copy/x:0": ones})
        assert both.run(copies[0]).tolist() == [6.5] * 4
        assert both.run(w).tolist() == before.tolist()
        both.run("copy/put", {"copy/x:0": ones})
        assert both.run(queue.size()) == 0
        assert both.run("copy/got:0").tolist() == [1] * 4
        feeds = {"copy/x:0": ones, x: ones * 0}
        got = both.run(["copy/looped:0", "looped:0"], feeds)
        assert got[0].tolist() == [1 + 3 * 6.5] * 4
        assert got[1].tolist() == (3 * before).tolist()
    with pytest.raises(rd.InvalidArgumentError, match='has a node "copy/'):
        rd.train.import_meta_graph(name + ".meta", import_scope="copy")


def test_an_imported_function_is_none_of_this_program():
    def saved(function):
        rd.py_func(function, [], rd.float32, name="f")
        return rd.train.export_meta_graph()

    with rd.Graph().as_default():
        data = saved(lambda: 1.0)
    with rd.Graph().as_default(), rd.Session() as session:
        saved(lambda: 2.0)
        rd.train.import_meta_graph(data, import_scope="old")
        assert session.run("f:0") == 2
        with pytest.raises(rd.InvalidArgumentError, match="old/f"):
            session.run("old/f:0")


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


def test_bytes_of_files(path, tmp_path):
    with rd.Session() as session:
        session.run(rd.write_file(path, "some text"))
        assert session.run(rd.read_file(path)).tobytes() == b"some text"
        with pytest.raises(rd.InvalidArgumentError, match="is a folder"):
            session.run(rd.read_file(tmp_path))
        with pytest.raises(rd.InvalidArgumentError, match="No such file"):
            session.run(rd.read_file(path + "none"))
