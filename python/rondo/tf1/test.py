"""tf.test: what tests of TensorFlow's programs use."""

import atexit as _atexit
import contextlib as _contextlib
import functools as _functools
import shutil as _shutil
import tempfile as _tempfile
import unittest as _unittest

import numpy as _np

import rondo as rd

from ._missing import getattr_of

__getattr__ = getattr_of("tf.test")


class TestCase(_unittest.TestCase):
    """unittest's, with comparisons of arrays and sessions."""

    def setUp(self):
        super().setUp()
        rd.reset_default_graph()

    @_contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        with rd.Session(graph=graph, config=config) as session:
            yield session

    cached_session = session

    def test_session(self, *args, **kwargs):
        """An old name of session; unittest takes it for a test."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        return self.session(*args, **kwargs)

    def get_temp_dir(self):
        """A folder of this test's own, always the same, which ends with it."""
        if not hasattr(self, "_temp_dir"):
            self._temp_dir = _tempfile.mkdtemp(prefix="rondo-test-")
            self.addCleanup(_shutil.rmtree, self._temp_dir, ignore_errors=True)
        return self._temp_dir

    def evaluate(self, tensors):
        return rd.get_default_session().run(tensors)

    def assertAllEqual(self, a, b, msg=None):
        a, b = _np.asarray(a), _np.asarray(b)
        self.assertEqual(a.shape, b.shape, msg)
        _np.testing.assert_array_equal(a, b, msg or "")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict):
            self.assertEqual(sorted(a), sorted(b))
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        a, b = _np.asarray(a), _np.asarray(b)
        self.assertEqual(a.shape, b.shape, msg)
        _np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    assertAllCloseAccordingToType = assertAllClose

    def assertNear(self, f1, f2, err, msg=None):
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        self.assertAllClose(farray1, farray2, 0, err, msg)

    def assertShapeEqual(self, np_array, tf_tensor, msg=None):
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)


def main(argv=None):
    _unittest.main(argv=argv)


@_functools.cache
def get_temp_dir():
    """A folder of this program's own, always the same, which ends with it."""
    folder = _tempfile.mkdtemp(prefix="rondo-test-")
    _atexit.register(_shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return False


def is_built_with_cuda():
    return False


def gpu_device_name():
    return ""
