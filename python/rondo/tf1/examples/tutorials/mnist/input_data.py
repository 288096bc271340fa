"""MNIST's files as data sets: read_data_sets(folder)."""

import collections
import gzip
import os

import numpy as np

from .....errors import InvalidArgumentError

# Where Debian's package dataset-fashion-mnist puts files of the same form.
FASHION_MNIST = "/usr/share/datasets/fashion-mnist"

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])

_FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


def _read(folder, name):
    """The array of an idx file, packed or not.

    A file is 0, 0, 8 (unsigned bytes), the number of extents, each extent as four
    bytes, the largest first, and the bytes.
    """
    for path, opened in ((name + ".gz", gzip.open), (name, open)):
        path = os.path.join(folder, path)
        if os.path.exists(path):
            with opened(path, "rb") as file:
                data = file.read()
            break
    else:
        raise InvalidArgumentError(
            f"read_data_sets: there is no {name}.gz in {folder or '.'}. Rondo "
            "downloads nothing: put MNIST's four files there, or install Debian's "
            f"package dataset-fashion-mnist and pass {FASHION_MNIST}"
        )
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise InvalidArgumentError(f"{path} is no idx file of bytes")
    rank = data[3]
    shape = np.frombuffer(data, ">u4", rank, 4).astype(np.int64)
    body = np.frombuffer(data, np.uint8, offset=4 + 4 * rank)
    if body.size != shape.prod():
        raise InvalidArgumentError(
            f"{path} has {body.size} bytes, its header says {shape.prod()}"
        )
    return body.reshape(shape)


class DataSet:
    """Images and labels, in batches."""

    def __init__(
        self, images, labels, fake_data=False, one_hot=False, dtype="float32",
        reshape=True, seed=None,
    ):  # fmt: skip
        if reshape:
            images = images.reshape(len(images), -1)
        else:
            images = images[..., None] if images.ndim == 3 else images
        if images.dtype == np.uint8 and str(dtype).rsplit(".", 1)[-1] != "uint8":
            images = images.astype(np.float32) / np.float32(255)
        self._images = images
        self._labels = labels
        self._random = np.random.RandomState(seed)
        self._epochs_completed = 0
        self._at = 0
        self._order = None

    @property
    def images(self):
        return self._images

    @property
    def labels(self):
        return self._labels

    @property
    def num_examples(self):
        return len(self._images)

    @property
    def epochs_completed(self):
        return self._epochs_completed

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """(images, labels) of the next examples, each epoch in another order."""
        count = self.num_examples
        picked = []
        while batch_size > 0:
            if self._order is None or self._at == count:
                if self._order is not None:
                    self._epochs_completed += 1
                self._at = 0
                self._order = (
                    self._random.permutation(count) if shuffle else np.arange(count)
                )
            part = self._order[self._at : self._at + batch_size]
            self._at += len(part)
            batch_size -= len(part)
            picked.append(part)
        rows = np.concatenate(picked)
        return self._images[rows], self._labels[rows]


def dense_to_one_hot(labels_dense, num_classes):
    """Labels as rows with a 1 each."""
    return np.eye(num_classes)[np.asarray(labels_dense)]


def read_data_sets(
    train_dir, fake_data=False, one_hot=False, dtype="float32", reshape=True,
    validation_size=5000, seed=None, source_url=None, num_classes=10,
):  # fmt: skip
    """Datasets(train, validation, test) from MNIST's four files in a folder."""
    if fake_data:
        raise InvalidArgumentError("read_data_sets: fake_data is not supported")
    parts = {key: _read(train_dir, name) for key, name in _FILES.items()}
    if one_hot:
        for key in ("train_labels", "test_labels"):
            parts[key] = dense_to_one_hot(parts[key], num_classes)
    if not 0 <= validation_size <= len(parts["train_images"]):
        # Files smaller than MNIST's own.
        raise InvalidArgumentError(
            f"read_data_sets: validation_size {validation_size} of "
            f"{len(parts['train_images'])} examples; pass a smaller one"
        )
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}

    def part(images, labels):
        return DataSet(images, labels, **options)

    images, labels = parts["train_images"], parts["train_labels"]
    return Datasets(
        train=part(images[validation_size:], labels[validation_size:]),
        validation=part(images[:validation_size], labels[:validation_size]),
        test=part(parts["test_images"], parts["test_labels"]),
    )
