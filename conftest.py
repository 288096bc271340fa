"""What all Python tests have."""

import shutil
import tempfile

import pytest


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
