"""tf.saved_model: a graph and its variables in a folder.

The folder has a checkpoint, with the graph, and signature_def.json: the names of
what goes in and comes out. TensorFlow's own saved models are not read.
"""

import json as _json
import os as _os
import types as _types

from ..errors import InvalidArgumentError
from ..framework.meta_graph import export_meta_graph
from ..framework.saver import Saver, import_meta_graph
from ._missing import getattr_of

__getattr__ = getattr_of("tf.saved_model")

_FILE = "signature_def.json"


class TensorInfo:
    """The name of a tensor."""

    def __init__(self, name):
        self.name = name


class SignatureDef:
    """What goes in and comes out, by name."""

    def __init__(self, inputs=None, outputs=None, method_name=""):
        self.inputs = dict(inputs or {})
        self.outputs = dict(outputs or {})
        self.method_name = method_name


class MetaGraphDef:
    """What loader.load gives: signature_def."""

    def __init__(self, signatures):
        self.signature_def = signatures


def build_tensor_info(tensor):
    return TensorInfo(tensor.name)


def build_signature_def(inputs=None, outputs=None, method_name=None):
    return SignatureDef(inputs, outputs, method_name or "")


def predict_signature_def(inputs, outputs):
    """A signature of tensors by name."""
    return SignatureDef(
        {k: build_tensor_info(t) for k, t in inputs.items()},
        {k: build_tensor_info(t) for k, t in outputs.items()},
        "tensorflow/serving/predict",
    )


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """Writes the session's graph and variables, with one signature."""
    _refuse(legacy_init_op=legacy_init_op)
    builder = SavedModelBuilder(export_dir)
    signature = predict_signature_def(inputs, outputs)
    builder.add_meta_graph_and_variables(
        session, ["serve"], {"serving_default": signature}
    )
    builder.save()


def _refuse(**options):
    for name, value in options.items():
        if value is not None:
            raise InvalidArgumentError(f"saved_model: {name} is not supported")


class SavedModelBuilder:
    """Writes saved models."""

    def __init__(self, export_dir):
        if _os.path.isdir(export_dir) and _os.listdir(export_dir):
            raise InvalidArgumentError(f"saved_model: {export_dir} is not empty")
        self._dir = _os.fspath(export_dir)
        self._content = None

    def add_meta_graph_and_variables(
        self, sess, tags, signature_def_map=None, assets_collection=None,
        legacy_init_op=None, clear_devices=False, main_op=None,
        strip_default_attrs=False, saver=None,
    ):  # fmt: skip
        """The graph and the variables of a session; with clear_devices the model asks
        for no devices once it is loaded."""
        _refuse(
            assets_collection=assets_collection, legacy_init_op=legacy_init_op,
            main_op=main_op,
        )  # fmt: skip
        _os.makedirs(self._dir, exist_ok=True)
        with sess.graph.as_default():
            saver = saver or Saver(allow_empty=True)
            path = _os.path.join(self._dir, "model")
            # Where there are no variables, there is no checkpoint.
            if saver.save(sess, path) is None:
                export_meta_graph(path + ".meta")
        signatures = {
            key: {
                "inputs": {k: t.name for k, t in s.inputs.items()},
                "outputs": {k: t.name for k, t in s.outputs.items()},
                "method_name": s.method_name,
            }
            for key, s in (signature_def_map or {}).items()
        }
        self._content = {
            "tags": list(tags),
            "signatures": signatures,
            "clear_devices": clear_devices,
        }

    def save(self, as_text=False):
        if self._content is None:
            raise InvalidArgumentError(
                "saved_model: call add_meta_graph_and_variables first"
            )
        path = _os.path.join(self._dir, _FILE)
        with open(path, "w") as file:
            _json.dump(self._content, file, indent=1)
        return path


def maybe_saved_model_directory(export_dir):
    """Whether the folder has a model of Rondo's."""
    return _os.path.exists(_os.path.join(export_dir, _FILE))


def load(sess, tags, export_dir, import_scope=None):
    """Adds the graph to the session's, within a scope if one is named, and sets the
    variables."""
    if not maybe_saved_model_directory(export_dir):
        raise InvalidArgumentError(
            f"saved_model: {export_dir} has no {_FILE}: it is no model that "
            "rondo.tf1 wrote"
        )
    with open(_os.path.join(export_dir, _FILE)) as file:
        content = _json.load(file)
    if not set(tags) <= set(content["tags"]):
        raise InvalidArgumentError(
            f"saved_model: {export_dir} has the tags {content['tags']}, not {tags}"
        )
    path = _os.path.join(export_dir, "model")
    with sess.graph.as_default():
        clear_devices = content.get("clear_devices", False)
        saver = import_meta_graph(path + ".meta", clear_devices, import_scope)
        if saver is not None:
            saver.restore(sess, path)
    return MetaGraphDef(
        {
            key: SignatureDef(
                {k: TensorInfo(n) for k, n in s["inputs"].items()},
                {k: TensorInfo(n) for k, n in s["outputs"].items()},
                s["method_name"],
            )
            for key, s in content["signatures"].items()
        }
    )


tag_constants = _types.SimpleNamespace(SERVING="serve", TRAINING="train", GPU="gpu")
signature_constants = _types.SimpleNamespace(
    DEFAULT_SERVING_SIGNATURE_DEF_KEY="serving_default",
    PREDICT_METHOD_NAME="tensorflow/serving/predict",
    CLASSIFY_METHOD_NAME="tensorflow/serving/classify",
    REGRESS_METHOD_NAME="tensorflow/serving/regress",
    PREDICT_INPUTS="inputs",
    PREDICT_OUTPUTS="outputs",
)
signature_def_utils = _types.SimpleNamespace(
    predict_signature_def=predict_signature_def,
    build_signature_def=build_signature_def,
)
utils = _types.SimpleNamespace(build_tensor_info=build_tensor_info)
builder = _types.SimpleNamespace(SavedModelBuilder=SavedModelBuilder)
loader = _types.SimpleNamespace(
    load=load, maybe_saved_model_directory=maybe_saved_model_directory
)
SERVING = "serve"
