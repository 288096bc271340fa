"""Data sets: elements for training, one after another, as in TensorFlow 1.

dataset = rd.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.shuffle(60000).repeat().batch(64).prefetch(2)
x, y = dataset.make_one_shot_iterator().get_next()   # tensors of the graph
for x, y in dataset: ...                              # or arrays, as they come
"""

from .dataset import Dataset
from .iterator import Iterator
from .readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = [
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "TFRecordDataset",
    "TextLineDataset",
]
