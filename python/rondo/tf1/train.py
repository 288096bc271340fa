"""tf.train."""

import os as _os

from .. import train as _train
from ..errors import InvalidArgumentError
from ..framework.graph import GraphDef, get_default_graph
from ..train import *  # noqa: F403
from ._missing import getattr_of
from .example import (  # noqa: F401
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)
from .summary import FileWriter as SummaryWriter  # noqa: F401

__getattr__ = getattr_of("tf.train")

NewCheckpointReader = _train.load_checkpoint


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes the graph, for import_meta_graph, always as bytes."""
    data = graph_or_graph_def
    if not isinstance(data, GraphDef):
        data = data.as_graph_def()
    _os.makedirs(logdir, exist_ok=True)
    path = _os.path.join(logdir, name)
    with open(path, "wb") as file:
        file.write(data.SerializeToString())
    return path


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Variables begin with what a checkpoint has: {name there: name or variable
    here}, or {"scope/": "scope/"}."""
    reader = _train.load_checkpoint(ckpt_dir_or_file)
    there = reader.get_variable_to_shape_map()
    graph = get_default_graph()
    here = {v.op.name: v for v in graph.get_collection("variables")}
    for old, new in assignment_map.items():
        if hasattr(new, "op"):
            pairs = [(old, new)]
        elif old.endswith("/"):
            prefix = "" if old == "/" else old
            place = "" if new == "/" else new
            # All that get_variable made must be there; slots of optimizers need not.
            pairs = [
                (prefix + name[len(place) :], v)
                for name, v in here.items()
                if name.startswith(place)
                and (name in graph._variables or prefix + name[len(place) :] in there)
            ]
        else:
            pairs = [(old, here.get(new))]
        if not pairs or pairs[0][1] is None:
            raise InvalidArgumentError(
                f"init_from_checkpoint: the graph has no variable {new!r}"
            )
        for name, variable in pairs:
            if name not in there:
                raise InvalidArgumentError(
                    f'init_from_checkpoint: {ckpt_dir_or_file} has no "{name}", which '
                    f'the variable "{variable.op.name}" is to begin with'
                )
            value = reader.get_tensor(name)
            variable.initializer = variable.assign(value).op
