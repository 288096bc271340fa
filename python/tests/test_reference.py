"""docs/operations.md is what the registry says."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "op_reference", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
