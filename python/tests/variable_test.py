"""Variables and their scopes."""

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def test_variables_are_assigned_and_scattered():
    v = rd.Variable(np.zeros((3, 2), np.float32), name="v")
    with rd.Session() as s:
        with pytest.raises(rd.InvalidArgumentError, match='"v"'):
            s.run(v)
        assert not s.run(v.is_initialized())
        s.run(rd.variables_initializer([v]))
        s.run(v.scatter_add([0, 0], [[1.0, 2.0], [3.0, 4.0]]))
        s.run(rd.scatter_update(v, [2], [[7.0, 8.0]]))
        assert s.run(v).tolist() == [[4, 6], [0, 0], [7, 8]]
        assert s.run(rd.assign(v, rd.ones([3, 2]))).tolist() == [[1, 1]] * 3
        v.load(np.full((3, 2), 9.0), s)
        assert s.run(v)[0, 0] == 9
    with pytest.raises(rd.InvalidArgumentError, match=r"\[3, 2\].*\[4\]"):
        v.assign(np.ones(4))


def test_variables_are_shared_by_scope():
    def layer(x):
        with rd.variable_scope("layer", reuse=rd.AUTO_REUSE):
            return x * rd.get_variable("w", [2], initializer=rd.ones_initializer())

    x = rd.constant([1.0, 2.0])
    layer(layer(x))
    assert [v.op.name for v in rd.trainable_variables()] == ["layer/w"]
    with rd.variable_scope("layer"):
        with pytest.raises(rd.InvalidArgumentError, match='"layer/w" exists'):
            rd.get_variable("w", [2])
    with rd.variable_scope("layer", reuse=True):
        with pytest.raises(rd.InvalidArgumentError, match='no variable "layer/other"'):
            rd.get_variable("other", [2])
        with pytest.raises(rd.InvalidArgumentError, match=r"shape \[2\], not \[3\]"):
            rd.get_variable("w", [3])
    rd.layers.dense(rd.ones([1, 2]), 3)
    rd.layers.dense(rd.ones([1, 2]), 3, name="named")
    rd.layers.dense(rd.ones([1, 2]), 3)
    names = [v.op.name for v in rd.global_variables()]
    assert names[1:] == [
        f"{d}/{v}" for d in ("dense", "named", "dense_1") for v in ("kernel", "bias")
    ]


def test_layers_without_names_share_variables_in_a_scope_that_is_reused():
    def network(x, reuse):
        with rd.variable_scope("net", reuse=reuse):
            with rd.variable_scope("inner"):
                x = rd.layers.dense(x, 3)
            return rd.layers.dense(rd.layers.dense(x, 4), 1)

    x = rd.ones([2, 5])
    one = network(x, None)
    made = [v.op.name for v in rd.global_variables()]
    assert made == [
        f"net/{layer}/{what}"
        for layer in ("inner/dense", "dense", "dense_1")
        for what in ("kernel", "bias")
    ]
    two = network(x, True)
    three = network(x, rd.AUTO_REUSE)
    assert len(rd.global_variables()) == len(made)
    with rd.Session() as s:
        s.run(rd.global_variables_initializer())
        got = s.run([one, two, three])
        assert got[0].tolist() == got[1].tolist() == got[2].tolist()
    with pytest.raises(
        rd.InvalidArgumentError, match='"net/inner/dense/kernel" exists'
    ):
        network(x, None)
    # Outside of scopes, each layer is a new one.
    rd.layers.dense(x, 3)
    rd.layers.dense(x, 3)
    assert rd.global_variables()[-1].op.name == "dense_1/bias"


def test_layers_of_what_they_are_not_for():
    matrix, images = rd.ones([2, 4]), rd.ones([1, 4, 4, 1])
    for call, why in (
        (lambda: rd.layers.conv2d(matrix, 2, 3), r"shape \[2, 4\].* no axis 3"),
        (lambda: rd.layers.dense(rd.constant(1.0), 2), r"shape \[\].* no axis -1"),
        (
            lambda: rd.layers.conv2d(images, 2, 3, data_format="HWC"),
            "data_format is 'HWC', expected one of channels_last",
        ),
        (
            lambda: rd.layers.max_pooling2d(images, 2, 2, data_format=None),
            "data_format is None",
        ),
    ):
        with pytest.raises(rd.InvalidArgumentError, match=why):
            call()


def test_reuse_holds_in_all_scopes_within():
    with rd.variable_scope("a"):
        with rd.variable_scope("b", reuse=False):
            first = rd.get_variable("v", [])
    with rd.variable_scope("a", reuse=True):
        with rd.variable_scope("b", reuse=False):
            assert rd.get_variable("v") is first
    with rd.variable_scope("a"):
        with rd.variable_scope("b"):
            with pytest.raises(rd.InvalidArgumentError, match="exists"):
                rd.get_variable("v", [])
