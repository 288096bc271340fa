"""Checkpoints: saved, restored, kept, removed."""

import os
import subprocess
import sys

import numpy as np
import pytest
from checkpoints import model

import rondo as rd

pytestmark = pytest.mark.usefixtures("graph")


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


def test_bytes_of_files(path, tmp_path):
    with rd.Session() as session:
        session.run(rd.write_file(path, "some text"))
        assert session.run(rd.read_file(path)).tobytes() == b"some text"
        with pytest.raises(rd.InvalidArgumentError, match="is a folder"):
            session.run(rd.read_file(tmp_path))
        with pytest.raises(rd.InvalidArgumentError, match="No such file"):
            session.run(rd.read_file(path + "none"))
