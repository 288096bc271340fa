"""Files: their bytes as vectors of uint8, as which all text travels."""

from __future__ import annotations

import os

import numpy as np

from ..framework import build


def read_file(filename, name=None):
    """The bytes of a file, a vector of uint8. `filename` is text, or a vector of
    uint8."""
    return build.one("ReadFile", [_bytes(filename)], name=name)


def write_file(filename, contents, name=None):
    """An operation that writes bytes to a file, which is there whole or as it was
    before. Both are text, bytes, or vectors of uint8."""
    return build.make("WriteFile", [_bytes(filename), _bytes(contents)], name=name)


def _bytes(x):
    if isinstance(x, os.PathLike):
        x = os.fspath(x)
    if isinstance(x, str):
        x = os.fsencode(x)
    return np.frombuffer(x, np.uint8) if isinstance(x, (bytes, bytearray)) else x
