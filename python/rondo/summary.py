"""Summaries: what TensorBoard shows of a run.

    loss_summary = rondo.summary.scalar("loss", loss)
    with rondo.summary.FileWriter("logs", session.graph) as writer:
        for step in range(1000):
            bytes, _ = session.run([rondo.summary.merge_all(), train])
            writer.add_summary(bytes, step)

A summary is a vector of uint8; `Session.run` gives `bytes` for it.
"""

import atexit as _atexit
import os as _os
import re as _re
import threading as _threading
import weakref as _weakref

import numpy as _np

from . import _core
from .errors import Error, InvalidArgumentError
from .framework import build as _build
from .framework.graph import GraphKeys, get_default_graph
from .framework.summary_proto import Summary
from .framework.tensor import Tensor

__all__ = [
    "FileWriter",
    "FileWriterCache",
    "Summary",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "text",
]


def _make(op, name, inputs, attrs, collections, family):
    """The tag is the name within its scopes, behind the family where there is one."""
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(f"summary: {name!r} is not a name")
    name = _re.sub(r"[^-/\w.]", "_", name).lstrip("/")  # of "W:0" it is "W_0"
    graph = _build.graph_of(inputs)
    inner = name if family is None else f"{family}/{name}"
    with graph.name_scope(inner) as scope:
        tag = scope.rstrip("/")
        if family is not None:
            tag = f"{family}/{tag}"
        # Under the scope's own name, as inputs that are made here are within.
        tensors = [_build.convert_to_tensor(x, graph=graph) for x in inputs]
        summary = _build.one(op, tensors, {**attrs, "tag": tag}, "summary")
    for collection in [GraphKeys.SUMMARIES] if collections is None else collections:
        graph.add_to_collection(collection, summary)
    return summary


def scalar(name, tensor, collections=None, family=None):
    """A summary with the value of a scalar."""
    return _make("ScalarSummary", name, [tensor], {}, collections, family)


def histogram(name, values, collections=None, family=None):
    """A summary with the distribution of the elements, which must be finite."""
    return _make("HistogramSummary", name, [values], {}, collections, family)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """A summary with the first `max_outputs` of images [batch, height, width,
    channels], of 1, 3 or 4 channels.

    Images of uint8 are shown as they are. Others are scaled, each by itself: its
    largest value is white, and where it has negative ones 0 is grey.
    """
    attrs = {"max_outputs": int(max_outputs)}
    return _make("ImageSummary", name, [tensor], attrs, collections, family)


def text(name, tensor, collections=None, family=None):
    """A summary with text, which TensorBoard reads as Markdown.

    `tensor` is a str, bytes, or a vector of uint8; or a list of those or a list
    of such lists, which is shown as a table.
    """
    shape, texts = _table(tensor)
    texts = [_bytes(x) for x in texts]
    if not texts:
        raise InvalidArgumentError(f"summary.text: there is no text for {name!r}")
    return _make("TextSummary", name, texts, {"shape": shape}, collections, family)


def _table(what):
    """(shape, texts) of a nesting of lists that are all as long."""
    if isinstance(what, _np.ndarray) and what.dtype.kind in "SU":
        what = what.tolist()
    if not isinstance(what, (list, tuple)):
        return [], [what]
    parts = [_table(x) for x in what]
    shapes = {tuple(shape) for shape, _ in parts}
    if len(shapes) > 1:
        raise InvalidArgumentError("summary.text: the rows differ in length")
    inner = list(shapes.pop()) if shapes else []
    return [len(parts), *inner], [x for _, texts in parts for x in texts]


def _bytes(value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray)):
        return _np.frombuffer(value, _np.uint8)
    return value


def merge(inputs, collections=None, name=None):
    """All of these summaries as one. A tag may be in one of them only."""
    inputs = list(inputs)
    if not inputs:
        raise InvalidArgumentError("summary.merge: there are no summaries")
    merged = _build.one("MergeSummary", inputs, {}, name)
    for collection in collections or ():
        merged.graph.add_to_collection(collection, merged)
    return merged


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """All summaries of the default graph as one; None when it has none."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """Writes a file of events to a folder, for `tensorboard --logdir folder`.

    Events are written by a thread, once there are `max_queue` of them and at
    least every `flush_secs` seconds. What cannot be written is an error of the
    next call. Any thread may use it.
    """

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
    ):
        if graph_def is not None:
            raise InvalidArgumentError("FileWriter: pass graph, not graph_def")
        self._logdir = _os.fspath(logdir)
        self._options = (int(max_queue), float(flush_secs), filename_suffix or "")
        self._writer = None
        self.reopen()
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self):
        """The folder."""
        return self._logdir

    @property
    def path(self):
        """The file."""
        return self._writer.path

    def add_summary(self, summary, global_step=None):
        """Adds what a run gave for a summary."""
        if hasattr(summary, "SerializeToString"):
            summary = summary.SerializeToString()
        if isinstance(summary, Tensor):
            raise InvalidArgumentError(
                f'add_summary: "{summary.name}" has no value until a session runs it; '
                "pass what session.run gives"
            )
        if isinstance(summary, _np.ndarray) and summary.dtype == _np.uint8:
            summary = summary.tobytes()
        if not isinstance(summary, bytes):
            raise InvalidArgumentError(
                f"add_summary: expected the bytes of a summary, got "
                f"{type(summary).__name__}"
            )
        self._writer.add_summary(summary, _step(global_step))

    def add_graph(self, graph, global_step=None):
        """Adds a graph, without the elements of large constants."""
        core = getattr(graph, "_core", None)
        if core is None:
            raise InvalidArgumentError(f"add_graph: {graph!r} is not a rondo.Graph")
        self._writer.add_graph(core, _step(global_step))

    def flush(self):
        """Returns once all that was added is in the file."""
        self._writer.flush()

    def close(self):
        """flush(), and the end of the file."""
        _open.discard(self)
        self._closed = True
        self._writer.close()

    def reopen(self):
        """After close(): another file in the same folder. Else nothing."""
        if self._writer is None or self._closed:
            self._writer = _core.EventWriter(self._logdir, *self._options)
            self._closed = False
            _open.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


class FileWriterCache:
    """One FileWriter for each folder, for all who write there: of a folder's files
    TensorBoard reads what is added to the last one only."""

    _lock = _threading.Lock()
    _writers = _weakref.WeakValueDictionary()

    @classmethod
    def get(cls, logdir):
        """The folder's writer, which is there for as long as somebody has it."""
        key = _os.path.abspath(_os.fspath(logdir))
        with cls._lock:
            writer = cls._writers.get(key)
            if writer is None:
                writer = cls._writers[key] = FileWriter(logdir)
            else:
                writer.reopen()
            return writer

    @classmethod
    def clear(cls):
        """Whoever asks from now on gets new ones."""
        with cls._lock:
            cls._writers.clear()


def _step(global_step):
    return 0 if global_step is None else int(global_step)


# Those whose last events are still to be written when the interpreter ends.
_open = _weakref.WeakSet()


def _close_all():
    for writer in list(_open):
        try:
            writer.close()
        except Error as e:
            import sys

            print(f"rondo.summary: {e}", file=sys.stderr)


_atexit.register(_close_all)
