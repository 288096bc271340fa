"""What all Python tests have."""

import pathlib
import shutil
import sys
import tempfile

import pytest

# Both folders of tests use its ports.py.
sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))


@pytest.fixture(autouse=True, scope="session")
def temporary_files(tmp_path_factory):
    """The temporary files of tests, and of the programs that they start, lie in a
    folder that ends with the tests: an Estimator without a model_dir leaves one."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield
    shutil.rmtree(folder, ignore_errors=True)
