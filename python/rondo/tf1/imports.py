"""Serves `import tensorflow` and its modules with rondo.tf1's."""

import importlib.abc
import sys
import types

import rondo.tf1 as _tf1
from rondo import data, initializers, losses, metrics
from rondo.ops import rnn

from . import config, contrib, estimator, namespaces
from ._missing import explain, getattr_of
from .examples import tutorials


def _python_modules():
    """tensorflow.python...: where programs reached behind the public names."""
    made = {}

    def module(name, **names):
        made[name] = types.ModuleType(f"tensorflow.{name}")
        made[name].__dict__.update(names)
        made[name].__getattr__ = getattr_of(f"tf.{name}")
        made[name].__path__ = []
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, made[name])

    module("python")
    for package in ("framework", "ops", "client", "platform", "training", "util"):
        module(f"python.{package}")
    module("python.framework.ops", **_names(_tf1, _FRAMEWORK))
    module("python.framework.dtypes", **_names(_tf1, _TYPES))
    module("python.framework.errors", **vars(_tf1.errors))
    module("python.framework.constant_op", constant=_tf1.constant)
    module("python.framework.graph_util")
    module(
        "python.framework.tensor_shape",
        TensorShape=_tf1.TensorShape,
        Dimension=_tf1.Dimension,
    )
    module("python.ops.rnn_cell", **vars(_tf1.nn.rnn_cell))
    module("python.ops.rnn", **_names(rnn, rnn.__all__))
    for name in ("math_ops", "array_ops", "control_flow_ops", "nn_ops", "init_ops"):
        module(f"python.ops.{name}", **vars(_tf1))
    module("python.client.timeline", Timeline=config.Timeline)
    module("python.client.device_lib", list_local_devices=_list_local_devices)
    module("python.platform.flags", **vars(_tf1.flags))
    module("python.platform.app", run=_tf1.app.run, flags=_tf1.flags)
    module("python.platform.gfile", **vars(_tf1.gfile))
    module("python.platform.tf_logging", **vars(_tf1.logging))
    return made


_FRAMEWORK = (
    "Graph GraphKeys Operation Tensor IndexedSlices name_scope device "
    "control_dependencies get_collection add_to_collection get_default_graph "
    "reset_default_graph convert_to_tensor get_default_session"
).split()
_TYPES = (
    "float16 float32 float64 int8 int16 int32 int64 uint8 bool string as_dtype DType"
).split()


def _names(source, names):
    return {n: getattr(source, n) for n in names}


def _list_local_devices(session_config=None):
    """This process has one: its CPU."""
    return [
        types.SimpleNamespace(
            name="/device:CPU:0", device_type="CPU", memory_limit=0, locality=None
        )
    ]


def modules():
    """{the name in TensorFlow: the module}."""
    table = {
        "": _tf1,
        "compat": namespaces.compat,
        "compat.v1": _tf1,
        "contrib": contrib,
        "data": data,
        "estimator": estimator,
        "estimator.inputs": estimator.inputs,
        "estimator.export": estimator.export,
        "examples": _tf1.examples,
        "examples.tutorials": tutorials,
        "examples.tutorials.mnist": tutorials.mnist,
        "examples.tutorials.mnist.input_data": tutorials.mnist.input_data,
        "initializers": initializers,
        "losses": losses,
        "metrics": metrics,
        "nn.rnn_cell": _tf1.nn.rnn_cell,
    }
    for name in (
        "app errors feature_column flags gfile image io layers linalg logging math nn "
        "python_io random saved_model summary test train"
    ).split():
        table[name] = getattr(_tf1, name)
    for name in contrib.__all__:
        table[f"contrib.{name}"] = getattr(contrib, name)
    made = _python_modules()
    _tf1.python = made["python"]
    table.update(made)
    # What is imported as a submodule of tensorflow.compat.v1.
    for name in list(table):
        if name and not name.startswith(("compat", "python")):
            table[f"compat.v1.{name}"] = table[name]
    return table


class _Absent(importlib.abc.MetaPathFinder):
    """Says of other modules of TensorFlow that they are not there."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] == "tensorflow":
            raise ModuleNotFoundError(
                f"Rondo does not have {fullname}{explain(fullname)}", name=fullname
            )
        return None


def install():
    """From now on, `import tensorflow` gives rondo.tf1."""
    for name, module in modules().items():
        sys.modules[f"tensorflow.{name}".rstrip(".")] = module
    if not any(isinstance(finder, _Absent) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Absent())
