"""What all Python tests have."""

import atexit
import pathlib
import shutil
import sys
import tempfile

import pytest

# Both folders of tests use its ports.py.
sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))

folder = tempfile.mkdtemp(prefix="rondo-tests-")
# Runs last, since it is the first that was registered: multiprocessing, for one,
# has a folder in it until its own clean-up.
atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def temporary_files(tmp_path_factory):
    """The temporary files of tests, and of the programs that they start, lie in a
    folder that ends with them: an Estimator without a model_dir leaves one. Those of
    tmp_path do not: of a test that failed they stay."""
    tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield
