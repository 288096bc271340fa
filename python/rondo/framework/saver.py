"""Saver: the variables of a session in a file, and back."""

from __future__ import annotations

import os

from .. import _core
from ..errors import InvalidArgumentError
from . import meta_graph
from .graph import Graph, GraphKeys, get_default_graph
from .variable import Variable

# Operations that bring what a checkpoint is to have into the variables.
BEFORE_SAVING = "before_saving"


class Saver:
    """Saves variables to checkpoints, and restores them.

        saver = rondo.train.Saver()
        saver.save(session, "folder/model", global_step=1000)
        saver.restore(session, rondo.train.latest_checkpoint("folder"))

    `var_list` is a list of variables, or a dict of names to variables; without
    it, all variables that the default graph has now. A checkpoint
    "folder/model-1000" is a file "folder/model-1000.safetensors", which other
    programs read too, and the graph in "folder/model-1000.meta". Files are there
    whole or not at all, whatever happens while they are written.

    The last `max_to_keep` checkpoints are kept (None or 0: all), and besides one
    of every `keep_checkpoint_every_n_hours`. With `reshape`, tensors of another
    shape are restored if they have as many elements. `sharded`,
    `restore_sequentially`, `write_version` and `save_relative_paths` change
    nothing: there is one file, read at once, and paths are always relative.
    """

    def __init__(
        self,
        var_list: list | dict | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def=None,
        builder=None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int | None = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        for what, value in (
            ("saver_def", saver_def),
            ("builder", builder),
            ("filename", filename),
        ):
            if value is not None:
                raise InvalidArgumentError(f"Saver: {what} is not supported")
        self._var_list = var_list
        self._allow_empty = allow_empty
        self._options = {
            "max_to_keep": max_to_keep or 0,
            "keep_checkpoint_every_n_hours": float(keep_checkpoint_every_n_hours),
            "reshape": reshape,
            "pad_step_number": pad_step_number,
            "name": name or "save",
        }
        self._graph = None
        self._saver = None
        self._is_empty = False
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Takes the variables that there are now; only with defer_build."""
        if self._saver is not None or self._is_empty:
            return
        pairs = _named(self._var_list)
        if not pairs:
            if not self._allow_empty:
                raise InvalidArgumentError("Saver: there are no variables to save")
            self._is_empty = True
            return
        graph = pairs[0][1].graph
        graph._check_open("a Saver")
        for _, variable in pairs:
            if variable.graph is not graph:
                raise InvalidArgumentError(
                    f'Saver: "{variable.name}" is of another graph than '
                    f'"{pairs[0][1].name}"'
                )
        values = [(name, variable._as_tensor()._value) for name, variable in pairs]
        self._graph = graph
        self._saver = _core.Saver(graph._core, values, **self._options)

    def save(
        self,
        sess,
        save_path: str | os.PathLike,
        global_step=None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes a checkpoint; gives its name, which restore takes.

        `global_step`, a number or what the session gives one for, becomes part
        of it: "model-1000". The list of checkpoints is in the folder's file
        "checkpoint", or `latest_filename`.
        """
        if self._empty():
            return None
        core = _session_of(sess)
        for prepare in sess.graph.get_collection(BEFORE_SAVING):
            prepare(sess)
        return self._saver.save(
            core,
            os.fspath(save_path),
            _step(sess, global_step),
            latest_filename or "checkpoint",
            meta_graph_suffix,
            write_meta_graph,
            write_state,
        )

    def restore(self, sess, save_path: str | os.PathLike) -> None:
        """Sets the variables to what they are in a checkpoint.

        When it is damaged or of another model, that is an error and no variable
        changes. Variables need no initializer before.
        """
        if self._empty():
            return
        if save_path is None:
            raise InvalidArgumentError(
                "restore: save_path is None; latest_checkpoint found no checkpoint?"
            )
        self._saver.restore(_session_of(sess), os.fspath(save_path))

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that it keeps, oldest first."""
        return [path for path, _ in self._kept()]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time) -> None:
        """[(path, time)] of the checkpoints that it may remove later."""
        if not self._empty():
            self._saver.last_checkpoints = [
                (os.fspath(path), float(time))
                for path, time in last_checkpoints_with_time
            ]

    def recover_last_checkpoints(self, checkpoint_paths) -> None:
        """Goes on with the checkpoints of an earlier process, as far as they
        still exist: get_checkpoint_state(...).all_model_checkpoint_paths."""
        if not self._empty():
            self._saver.recover_last_checkpoints(
                [os.fspath(path) for path in checkpoint_paths]
            )

    def export_meta_graph(
        self, filename: str | os.PathLike | None = None, *, as_text: bool = False
    ) -> bytes | None:
        """Writes the graph of its variables to a file; see
        rondo.train.export_meta_graph."""
        self._empty()
        return meta_graph.export_meta_graph(
            filename, graph=self._graph, as_text=as_text
        )

    def _kept(self) -> list[tuple[str, float]]:
        return [] if self._empty() else self._saver.last_checkpoints

    def _empty(self) -> bool:
        if self._saver is None and not self._is_empty:
            raise InvalidArgumentError("Saver: call build() first (defer_build)")
        return self._is_empty


def import_meta_graph(
    meta_graph_or_file, clear_devices: bool = False, import_scope: str | None = None
) -> Saver | None:
    """Adds a graph that export_meta_graph or Saver.save wrote (a path, or the
    bytes) to the default graph; gives a Saver of its variables, if it has any.

    Its tensors and operations are found by name (get_tensor_by_name,
    get_operation_by_name) and in the collections that they were in; operations
    without outputs are in no collection. With `import_scope`, all names begin with
    it, and the Saver still knows the variables by those that they had. When a name
    is taken in the graph, that is an error, and nothing is added.
    """
    scope = (import_scope or "").rstrip("/")
    before = len(get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES))
    graph: Graph = meta_graph.import_graph(meta_graph_or_file, clear_devices, scope)
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)[before:]
    if not variables:
        return None
    prefix = f"{scope}/" if scope else ""
    return Saver({v._name.removeprefix(prefix): v for v in variables})


def _named(var_list) -> list[tuple[str, Variable]]:
    if var_list is None:
        var_list = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
    if isinstance(var_list, dict):
        pairs = list(var_list.items())
    else:
        pairs = [(getattr(v, "_name", None), v) for v in var_list]
    for _, variable in pairs:
        if not isinstance(variable, Variable):
            raise InvalidArgumentError(
                f"Saver: {variable!r} is not a rondo.Variable; var_list is a list of "
                "variables, or a dict of names to variables"
            )
    return pairs


def _session_of(sess):
    core = getattr(sess, "_session", None)
    if core is None:
        raise InvalidArgumentError(
            "this session is closed"
            if hasattr(sess, "_session")
            else f"{sess!r} is not a rondo.Session"
        )
    return core


def _step(sess, global_step) -> int | None:
    if global_step is None:
        return None
    if hasattr(global_step, "graph"):
        global_step = sess.run(global_step)
    return int(global_step)
