"""Operations from a shared library of the user's own."""

import inspect
import os
import re
import types

from .. import _core
from ..errors import InvalidArgumentError
from . import build


def load_op_library(library_filename):
    """Loads a shared library with RONDO_OP_LIBRARY (rondo/kernels/op_library.h).

    Gives a module with a function for each of its operations, named in snake
    case: it takes the inputs in order, attributes by name, and `name`. OP_LIST
    has the names of the operations.
    """
    path = os.fspath(library_filename)
    names = _core.load_op_library(path)
    module = types.ModuleType(
        os.path.splitext(os.path.basename(path))[0], f"Operations of {path}."
    )
    module.OP_LIST = names
    for name in names:
        function = op_function(_core.operation(name))
        setattr(module, function.__name__, function)
    return module


def op_function(op):
    """A function that makes nodes of an operation of the registry."""
    signature = _signature(op)

    def function(*args, **kwargs):
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise InvalidArgumentError(f"{op['name']}: {e}") from None
        inputs = []
        for spec in op["inputs"]:
            value = given.get(spec["name"], ())
            inputs.extend(value if spec["list"] else [value])
        attrs = {a["name"]: given[a["name"]] for a in op["attrs"] if a["name"] in given}
        made = build.make(op["name"], inputs, attrs, given.get("name"))
        outputs = made.outputs
        if not outputs:
            return made
        return outputs[0] if len(op["outputs"]) == 1 == len(outputs) else outputs

    function.__name__ = function.__qualname__ = snake_case(op["name"])
    function.__doc__ = op["doc"]
    function.__signature__ = signature
    return function


def _signature(op):
    kind = inspect.Parameter
    parameters = [
        kind(
            spec["name"],
            kind.POSITIONAL_OR_KEYWORD,
            default=() if spec["list"] else kind.empty,
        )
        for spec in op["inputs"]
    ]
    attrs = sorted(op["attrs"], key=lambda a: not a["required"])
    for attr in attrs:
        default = kind.empty if attr["required"] else attr["default"]
        parameters.append(kind(attr["name"], kind.KEYWORD_ONLY, default=default))
    if all(p.name != "name" for p in parameters):
        parameters.append(kind("name", kind.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def snake_case(name):
    """ "MatMulV2" as "mat_mul_v2"."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
