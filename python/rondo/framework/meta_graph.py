"""Graphs in files, and back into a program."""

from __future__ import annotations

import os
from collections.abc import Callable

from .. import _core
from ..errors import InvalidArgumentError
from .graph import Graph, GraphKeys, get_default_graph
from .tensor import Tensor
from .variable import Variable


def export_meta_graph(
    filename: str | os.PathLike | None = None,
    *,
    graph: Graph | None = None,
    as_text: bool = False,
) -> bytes | None:
    """Writes the graph, or the default one, with its collections of tensors and
    variables, to a file that import_meta_graph and C++'s load_graph read.

    Without a filename, gives the same as bytes.
    """
    if as_text:
        raise InvalidArgumentError("export_meta_graph: as_text is not supported")
    graph = graph or get_default_graph()
    if filename is None:
        return _core.to_graph_def(graph._core)
    _core.save_graph(graph._core, os.fspath(filename))
    return None


def import_graph(meta_graph_or_file, clear_devices: bool, scope: str) -> Graph:
    """Adds a saved graph to the default graph, within a scope if one is named; gives
    that. When it cannot be added, nothing of it is."""
    graph = get_default_graph()
    graph._check_open("a saved graph")
    first = len(graph._core)
    if isinstance(meta_graph_or_file, bytes):
        _take_in(graph, lambda c: _core.import_graph_def(c, meta_graph_or_file, scope))
    else:
        path = os.fspath(meta_graph_or_file)
        _take_in(graph, lambda c: _core.import_graph(c, path, scope))
    if clear_devices:
        for node in graph._core.nodes[first:]:
            node.device = ""
    return graph


def _take_in(graph: Graph, load: Callable) -> None:
    """Loads nodes, and puts what came into the collections into Python's."""
    before = {name: len(values) for name, values in graph._core.collections.items()}
    load(graph._core)
    collections = {
        name: values[before.get(name, 0) :]
        for name, values in graph._core.collections.items()
    }
    initializers = {
        value.node.attrs.get("variable"): value
        for value in collections.get(GraphKeys.INITIALIZERS, ())
    }
    trainable = set(collections.get(GraphKeys.TRAINABLE_VARIABLES, ()))
    variables = {}

    def wrapped(value):
        tensor = Tensor(value, graph)
        if value.op != "Variable":
            return tensor
        if value not in variables:
            set_it = initializers.get(value.node.attrs["variable"] or value.node.name)
            set_it = None if set_it is None else Tensor(set_it, graph)
            variables[value] = Variable._of(tensor, set_it, value in trainable)
        return variables[value]

    for name, values in collections.items():
        graph.get_collection_ref(name).extend(wrapped(value) for value in values)
