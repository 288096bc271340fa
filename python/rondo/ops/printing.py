"""Printing from within a run."""

import builtins
import sys

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, graph_of, make, one
from ..framework.graph import get_default_graph
from ..framework.tensor import Operators


def pieces(data, graph, separator=""):
    """(texts, tensors): what stands before, between and behind the tensors."""
    texts, tensors = [""], []
    for i, x in enumerate(data):
        if i:
            texts[-1] += separator
        if isinstance(x, bytes):
            x = x.decode(errors="replace")
        if isinstance(x, str):
            texts[-1] += x
        else:
            tensors.append(convert_to_tensor(x, graph=graph))
            texts.append("")
    return texts, tensors


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """`input_`, which when it is computed prints `data`, tensors and texts, on
    standard error: the first `summarize` elements of each (3; -1: all), and only
    the first `first_n` times."""
    input_ = convert_to_tensor(input_)
    if not isinstance(data, (list, tuple)):
        raise InvalidArgumentError("Print: data must be a list")
    texts, tensors = pieces(data, input_.graph)
    attrs = {
        "message": message or "",
        "texts": texts,
        "first_n": -1 if first_n is None else int(first_n),
        "summarize": 3 if summarize is None else int(summarize),
    }
    return one("Print", [input_, *tensors], attrs, name)


def print(  # noqa: A001
    *inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None
):
    """An operation that prints: tensors, and whatever else as Python's str() has
    it. Of each axis the first and last `summarize` slices; -1: all.

    `output_stream` is sys.stderr (unless told otherwise) or sys.stdout.
    """
    graph = graph_of(inputs) if inputs else get_default_graph()
    shown = [x if _has_tensors(x) else str(x) for x in inputs]
    texts, tensors = pieces(shown, graph, sep)
    texts[-1] += end
    attrs = {
        "texts": texts,
        "summarize": -1 if summarize is None else int(summarize),
        "output_stream": _stream(output_stream),
    }
    return make("PrintLine", tensors, attrs, name, graph=graph)


def _has_tensors(x):
    if isinstance(x, (list, tuple)):
        return builtins.any(_has_tensors(item) for item in x)
    return isinstance(x, Operators) or hasattr(x, "_as_tensor")


def _stream(stream):
    if stream is None or stream in (sys.stderr, sys.__stderr__, "stderr"):
        return "stderr"
    if stream in (sys.stdout, sys.__stdout__, "stdout"):
        return "stdout"
    raise InvalidArgumentError(
        f"print: output_stream is {stream!r}, expected sys.stderr or sys.stdout"
    )
