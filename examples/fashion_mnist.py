"""Fashion-MNIST as Debian's package dataset-fashion-mnist has it."""

import gzip
import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")


def load(folder, which):
    """The images, as floats from 0 to 1, and labels, as i64, of "train" or "t10k"."""
    images = _read(folder / f"{which}-images-idx3-ubyte.gz")[16:]
    labels = _read(folder / f"{which}-labels-idx1-ubyte.gz")[8:]
    images = images.reshape(-1, 28, 28, 1).astype(np.float32) / 255
    return images, labels.astype(np.int64)


def _read(path):
    if not path.exists():
        sys.exit(
            f"there is no {path}: apt-get install dataset-fashion-mnist, or --data"
        )
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8)
