"""Summaries and event files, as TensorBoard's own reader sees them."""

import io
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
from graph_ops import compared
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import rondo as rd


@pytest.fixture(autouse=True)
def graph():
    with rd.Graph().as_default() as made:
        yield made


def read(folder):
    """All that TensorBoard finds in a folder."""
    everything = {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}
    events = EventAccumulator(str(folder), everything)
    events.Reload()
    return events


def written(folder, summary, feeds=({},)):
    with rd.Session() as session, rd.summary.FileWriter(folder) as writer:
        for step, feed in enumerate(feeds):
            writer.add_summary(session.run(summary, feed), step)
    return read(folder)


def test_scalars(tmp_path):
    x = rd.placeholder(rd.float32, [], name="x")
    with rd.name_scope("train"):
        loss = rd.summary.scalar("loss", x)
    assert rd.get_collection(rd.GraphKeys.SUMMARIES) == [loss]
    events = written(tmp_path, loss, [{x: 0.5}, {x: 0.25}])
    assert events.Tags()["scalars"] == ["train/loss"]
    got = events.Scalars("train/loss")
    assert [(e.step, e.value) for e in got] == [(0, 0.5), (1, 0.25)]
    assert got[0].wall_time > 1e9
    compared(x.graph, "ScalarSummary")


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "bool"])
def test_scalars_of_any_type(tmp_path, dtype):
    summary = rd.summary.scalar("x", np.ones((), dtype))
    assert written(tmp_path, summary).Scalars("x")[0].value == 1


def test_names():
    one = rd.summary.scalar("same", 1.0)
    rd.summary.scalar("same", 1.0)
    rd.summary.scalar("of", 1.0, family="family", collections=["mine"])
    rd.summary.scalar("two words", 1.0)
    ops = rd.get_default_graph().get_operations()
    tags = [op.get_attr("tag") for op in ops if op.type == "ScalarSummary"]
    assert tags == ["same", "same_1", "family/family/of", "two_words"]
    assert one.dtype == rd.uint8 and one.shape.as_list() == [None]
    assert len(rd.get_collection("mine")) == 1
    assert len(rd.get_collection(rd.GraphKeys.SUMMARIES)) == 3
    with pytest.raises(rd.InvalidArgumentError, match="is not a name"):
        rd.summary.scalar("", 1.0)


def test_a_variable_s_name_is_a_name():
    w = rd.Variable(1.0, name="w")
    rd.identity(rd.summary.scalar(w.name, w), name="y")
    (op,) = [op for op in w.graph.get_operations() if op.type == "ScalarSummary"]
    assert op.get_attr("tag") == "w_0"
    data = rd.train.export_meta_graph()
    with rd.Graph().as_default(), rd.Session() as session:
        rd.train.import_meta_graph(data)
        session.run(rd.global_variables_initializer())
        assert b"w_0" in session.run("y:0").tobytes()


def test_histograms(tmp_path):
    values = np.random.default_rng(1).normal(size=10000)
    summary = rd.summary.histogram("weights", values)
    got = written(tmp_path, summary).Histograms("weights")[0].histogram_value
    assert got.min == values.min() and got.max == values.max()
    assert got.num == len(values) == sum(got.bucket)
    assert got.sum == pytest.approx(values.sum())
    assert got.sum_squares == pytest.approx((values**2).sum())
    limits = np.array(got.bucket_limit)
    assert (np.diff(limits) > 0).all() and limits[-1] == np.finfo(float).max
    below = np.cumsum(got.bucket)
    for limit in (-1.0, 0.0, 0.5):
        at = np.searchsorted(limits, limit)
        assert below[at] == (values < limits[at]).sum()
    compared(summary.graph, "HistogramSummary")


@pytest.mark.parametrize("values", [[], [0.0], [-1e300, 1e300], [1e-300], [3] * 5])
def test_histograms_at_the_edges(tmp_path, values):
    summary = rd.summary.histogram("h", np.array(values))
    got = written(tmp_path, summary).Histograms("h")[0].histogram_value
    assert got.num == sum(got.bucket) == len(values)
    assert len(got.bucket) == len(got.bucket_limit) > 0
    for i, limit in enumerate(got.bucket_limit):
        low = got.bucket_limit[i - 1] if i else -np.inf
        within = sum(low <= v < limit for v in values)
        assert got.bucket[i] == within


def test_images(tmp_path):
    pixels = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)
    events = written(tmp_path, rd.summary.image("rgb", pixels))
    assert events.Tags()["images"] == ["rgb/image/0", "rgb/image/1"]
    event = events.Images("rgb/image/1")[0]
    assert (event.height, event.width) == (3, 4)
    image = PIL.Image.open(io.BytesIO(event.encoded_image_string))
    assert image.mode == "RGB" and np.array_equal(np.asarray(image), pixels[1])
    compared(rd.get_default_graph(), "ImageSummary")


def decoded(folder, images):
    with rd.Graph().as_default():
        events = written(folder, rd.summary.image("i", images, max_outputs=1))
    png = events.Images("i/image")[0].encoded_image_string
    return np.asarray(PIL.Image.open(io.BytesIO(png)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_images_are_scaled(tmp_path, dtype):
    grey = np.array([[0, 1], [2, 4]], dtype)[None, :, :, None]
    assert decoded(tmp_path / "a", grey).tolist() == [[0, 63], [127, 255]]
    assert decoded(tmp_path / "b", -grey).tolist() == [[128, 96], [64, 1]]
    assert decoded(tmp_path / "c", grey * 0).tolist() == [[0, 0], [0, 0]]


def test_pixels_that_are_no_numbers(tmp_path):
    rgba = np.ones((1, 1, 3, 4), np.float32)
    rgba[0, 0, 0, 2], rgba[0, 0, 1, 1] = np.nan, np.inf
    got = decoded(tmp_path, rgba)
    assert got.tolist() == [[[255, 0, 0, 255], [255, 0, 0, 255], [255] * 4]]


def test_texts(tmp_path):
    x = rd.placeholder(rd.uint8, [None])
    all_of = rd.summary.merge(
        [
            rd.summary.text("note", "größer *als*"),
            rd.summary.text("table", [["a", b"b"], ["c", "d"]]),
            rd.summary.text("fed", x),
        ]
    )
    events = written(tmp_path, all_of, [{x: np.frombuffer(b"bytes", np.uint8)}])

    def strings(tag):
        assert tag in events.PluginTagToContent("text")
        tensor = events.Tensors(tag)[0].tensor_proto
        return [d.size for d in tensor.tensor_shape.dim], list(tensor.string_val)

    assert strings("note") == ([], ["größer *als*".encode()])
    assert strings("table") == ([2, 2], [b"a", b"b", b"c", b"d"])
    assert strings("fed") == ([], [b"bytes"])
    compared(x.graph, "TextSummary", "MergeSummary")
    with pytest.raises(rd.InvalidArgumentError, match="rows differ"):
        rd.summary.text("bad", [["a"], ["b", "c"]])
    with pytest.raises(rd.InvalidArgumentError, match="there is no text"):
        rd.summary.text("none", [])
    with pytest.raises(rd.InvalidArgumentError, match="expected u8"):
        rd.summary.text("number", 1.0)


def test_tensorboard_would_show_the_text(tmp_path):
    from tensorboard.plugins.text.text_plugin import text_array_to_html
    from tensorboard.util.tensor_util import make_ndarray

    written(tmp_path, rd.summary.text("table", [["a", "b"]]))
    tensor = read(tmp_path).Tensors("table")[0].tensor_proto
    assert "<td>" in text_array_to_html(make_ndarray(tensor), enable_markdown=True)


def test_merge_all(tmp_path):
    assert rd.summary.merge_all() is None
    rd.summary.scalar("a", 1.0)
    rd.summary.histogram("b", [1.0, 2.0])
    rd.summary.scalar("other", 1.0, collections=["others"])
    events = written(tmp_path, rd.summary.merge_all())
    assert events.Tags()["scalars"] == ["a"]
    assert events.Tags()["histograms"] == ["b"]
    with pytest.raises(rd.InvalidArgumentError, match="there are no summaries"):
        rd.summary.merge([])


def test_two_of_one_tag():
    a = rd.summary.scalar("a", 1.0)
    with rd.Session() as session:
        with pytest.raises(rd.Error, match='two of the summaries have the tag "a"'):
            session.run(rd.summary.merge([a, a]))
        assert isinstance(session.run(a), bytes)


def test_what_is_not_finite():
    x = rd.placeholder(rd.float32, [2])
    summary = rd.summary.histogram("w", x)
    with rd.Session() as session:
        with pytest.raises(rd.Error, match='HistogramSummary "w/summary".*not finite'):
            session.run(summary, {x: [1, np.inf]})
        session.run(summary, {x: [1, 2]})


def test_the_graph(tmp_path):
    x = rd.placeholder(rd.float32, [None, 3], name="x")
    with rd.name_scope("layer"):
        y = rd.nn.relu(rd.matmul(x, rd.ones([3, 2])), name="y")
    large = rd.constant(np.zeros(100000, np.float32), name="large")
    with rd.Session() as session:
        rd.summary.FileWriter(tmp_path, session.graph).close()
    events = read(tmp_path)
    assert events.Tags()["graph"]
    nodes = {node.name: node for node in events.Graph().node}
    assert nodes["layer/y"].op == "Relu" and nodes["x"].op == "Placeholder"
    assert nodes[large.op.name].ByteSize() < 2000
    assert y.op.name in nodes


def test_a_run_gives_bytes_of_summaries_only():
    s = rd.summary.scalar("a", 1.0)
    with rd.Session() as session:
        got = session.run({"one": s, "list": [s, rd.identity(s)], "x": rd.ones([2])})
    assert isinstance(got["one"], bytes) and got["list"][0] == got["one"]
    assert got["list"][1].tobytes() == got["one"]
    assert isinstance(got["x"], np.ndarray)


def test_what_a_writer_takes(tmp_path):
    s = rd.summary.scalar("a", 2.0)
    writer = rd.summary.FileWriter(tmp_path, filename_suffix=".mine")
    with rd.Session() as session:
        got = session.run(s)
    assert writer.get_logdir() == str(tmp_path) and writer.path.endswith(".mine")
    writer.add_summary(np.frombuffer(got, np.uint8), np.int64(3))
    writer.add_summary(got)
    with pytest.raises(rd.InvalidArgumentError, match="has no value until"):
        writer.add_summary(s)
    with pytest.raises(rd.InvalidArgumentError, match="expected the bytes"):
        writer.add_summary("text")
    with pytest.raises(rd.InvalidArgumentError, match="is not a rondo.Graph"):
        writer.add_graph("graph")
    writer.flush()
    assert sorted(e.step for e in read(tmp_path).Scalars("a")) == [0, 3]
    writer.close()
    with pytest.raises(rd.InvalidArgumentError, match="is closed"):
        writer.add_summary(got)
    writer.close()
    writer.reopen()
    writer.add_summary(got, 9)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(rd.Error, match="cannot make the folder"):
        rd.summary.FileWriter(tmp_path / "file" / "logs")


def test_the_end_of_the_program_writes_the_rest(tmp_path):
    program = """
import sys
import rondo as rd
writer = rd.summary.FileWriter(sys.argv[1])
with rd.Session() as session:
    writer.add_summary(session.run(rd.summary.scalar("last", 5.0)), 1)
"""
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    assert read(tmp_path).Scalars("last")[0].value == 5


def test_what_cannot_be_written_is_an_error(tmp_path):
    program = """
import resource, signal, sys
import rondo as rd
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
writer = rd.summary.FileWriter(sys.argv[1])
try:
    for i in range(1000):
        writer.add_summary(b"x" * 100, i)
    writer.flush()
except rd.ResourceError as e:
    print(e)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True
    )
    assert "cannot write" in done.stdout and "File too large" in done.stdout
