"""tf.gfile: files and folders."""

import glob as _glob
import os as _os
import shutil as _shutil

from . import errors as _errors
from ._missing import getattr_of

__getattr__ = getattr_of("tf.gfile")


class GFile:
    """A file: open() with TensorFlow's methods."""

    def __init__(self, name, mode="r"):
        self.name = name
        self.mode = mode
        self._file = None

    def _open(self):
        if self._file is None:
            try:
                self._file = open(self.name, self.mode)
            except FileNotFoundError as e:
                raise _errors.NotFoundError(str(e)) from None
        return self._file

    def read(self, n=-1):
        return self._open().read(n)

    def readline(self):
        return self._open().readline()

    def readlines(self):
        return self._open().readlines()

    def write(self, content):
        self._open().write(content)

    def seek(self, offset=None, whence=0, position=None):
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._open().tell()

    def size(self):
        return _os.path.getsize(self.name)

    def flush(self):
        if self._file is not None:
            self._file.flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self):
        return iter(self._open())

    def __next__(self):
        return next(self._open())

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *args):
        self.close()


Open = GFile


class FastGFile(GFile):
    """The same."""


def Exists(filename):
    return _os.path.exists(filename)


def IsDirectory(dirname):
    return _os.path.isdir(dirname)


def MakeDirs(dirname):
    _os.makedirs(dirname, exist_ok=True)


def MkDir(dirname):
    _os.mkdir(dirname)


def ListDirectory(dirname):
    try:
        return sorted(_os.listdir(dirname))
    except FileNotFoundError as e:
        raise _errors.NotFoundError(str(e)) from None


def Glob(filename):
    patterns = [filename] if isinstance(filename, str) else filename
    return sorted(f for pattern in patterns for f in _glob.glob(pattern))


def Remove(filename):
    try:
        _os.remove(filename)
    except FileNotFoundError as e:
        raise _errors.NotFoundError(str(e)) from None


def DeleteRecursively(dirname):
    try:
        _shutil.rmtree(dirname)
    except FileNotFoundError as e:
        raise _errors.NotFoundError(str(e)) from None


def Rename(oldname, newname, overwrite=False):
    if not overwrite and _os.path.exists(newname):
        raise _errors.AlreadyExistsError(f"{newname} exists; pass overwrite=True")
    _os.replace(oldname, newname)


def Copy(oldpath, newpath, overwrite=False):
    if not overwrite and _os.path.exists(newpath):
        raise _errors.AlreadyExistsError(f"{newpath} exists; pass overwrite=True")
    _shutil.copyfile(oldpath, newpath)


def Stat(filename):
    return _os.stat(filename)


def Walk(top, in_order=True):
    return _os.walk(top, topdown=in_order)


# As TensorFlow 2, and the end of TensorFlow 1, call them: tf.io.gfile.
exists, isdir, makedirs, mkdir = Exists, IsDirectory, MakeDirs, MkDir
listdir, remove, rmtree, rename = ListDirectory, Remove, DeleteRecursively, Rename
copy, stat, walk, glob = Copy, Stat, Walk, Glob
