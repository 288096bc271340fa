"""Checkpoints that are damaged, of another model, or that cannot be written."""

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
from checkpoints import damage, model

import rondo as rd

pytestmark = pytest.mark.usefixtures("graph")


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
