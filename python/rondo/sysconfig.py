"""Where the headers and the library are, for operations of one's own.

g++ -std=c++20 -fPIC -shared op.cc -o op.so $(python -c "import rondo;
    print(*rondo.sysconfig.get_compile_flags(), *rondo.sysconfig.get_link_flags())")
"""

import os as _os

from .errors import UnavailableError

__all__ = ["get_compile_flags", "get_include", "get_lib", "get_link_flags"]

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__))


def get_include():
    """The folder that has rondo/graph.h and the other headers."""
    installed = _os.path.join(_PACKAGE, "include")
    tree = _os.path.dirname(_os.path.dirname(_PACKAGE))
    for folder in (installed, tree):
        if _os.path.exists(_os.path.join(folder, "rondo", "rondo.h")):
            return folder
    raise UnavailableError(
        f"this package was installed without headers: {installed} does not exist"
    )


def get_lib():
    """The folder of the library that this process uses."""
    return _os.path.dirname(_library())


def get_compile_flags():
    """What the compiler needs besides -fPIC: a list of arguments."""
    return [f"-I{get_include()}", "-std=c++20"]


def get_link_flags():
    """What the linker needs besides -shared: a list of arguments."""
    return [f"-L{get_lib()}", f"-l:{_os.path.basename(_library())}", "-lfmt"]


def _library():
    # The loader knows which one it took: beside the package, or of a build.
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].rstrip("\n")
            if _os.path.basename(path).startswith("librondo.so"):
                return _soname_of(path)
    raise UnavailableError("this process has not loaded librondo.so")


def _soname_of(path):
    """librondo.so.0 for librondo.so.0.1.0: what programs are linked with."""
    folder, name = _os.path.split(path)
    soname = _os.path.join(folder, ".".join(name.split(".")[:3]))
    return soname if _os.path.exists(soname) else path
