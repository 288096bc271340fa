"""Graphs in files: exported, imported, within a scope."""

import numpy as np
import pytest
from checkpoints import model

import rondo as rd

pytestmark = pytest.mark.usefixtures("graph")


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
