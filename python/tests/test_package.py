"""The package as such: its stub, its exceptions."""

import ast
import inspect
import pathlib
import re

import rondo
from rondo import _core, errors


def public(names):
    return {n for n in names if not n.startswith("__") or n in ("__enter__",)}


def check_arguments(where, function, told):
    """The stub has those arguments that the first line of the docstring has."""
    signature = (function.__doc__ or "").split("\n")[0]
    real = set(re.findall(r"[(,] \*?(\w+):|\((\w+):", signature))
    real = {a or b for a, b in real} - {"self"}
    args = told.args
    names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    names -= {"self"}
    # Options that go through a table are not told one by one.
    fits = names >= real if "**" in signature else names == real
    assert fits, f"{where}: {signature}"


def test_the_stub_has_what_the_extension_has():
    text = pathlib.Path(rondo.__file__).with_name("_core.pyi").read_text()
    told = {n.name: n for n in ast.parse(text).body if hasattr(n, "name")}
    real = {n: v for n, v in vars(_core).items() if not n.startswith("__")}
    told = {n: v for n, v in told.items() if n == "_close_all" or n[0] != "_"}
    assert told.keys() == real.keys()
    for name, kind in real.items():
        if not inspect.isclass(kind):
            check_arguments(name, kind, told[name])
            continue
        methods = {n.name: n for n in told[name].body if hasattr(n, "name")}
        assert public(methods) == public(vars(kind)), name
        for method, node in methods.items():
            if isinstance(inspect.getattr_static(kind, method), property):
                continue
            if not method.startswith("__e"):
                check_arguments(f"{name}.{method}", getattr(kind, method), node)


def test_codes_and_classes():
    assert sorted(errors.BY_CODE) == list(range(1, 11))
    assert all(issubclass(kind, rondo.Error) for kind in errors.BY_CODE.values())
    assert issubclass(rondo.InvalidArgumentError, ValueError)
    assert issubclass(rondo.TimeoutError, TimeoutError)
    assert issubclass(rondo.PermissionError, PermissionError)
    assert str(rondo.TimeoutError("late")) == "late"
