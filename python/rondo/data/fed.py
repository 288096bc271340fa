"""Fed: tensors of a graph whose values a data set gets when an iterator begins."""

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor
from ..ops.host_call import py_func


def is_fed(value):
    """Whether it is a tensor that has its value only in a run."""
    return isinstance(value, Tensor) and value.op.type != "Const"


class Fed:
    """The values that the tensors had when the latest initializer was run, as the
    elements of a data set: one for each row, or one for all."""

    def __init__(self, values, rows, what):
        graph = next(v for v in values if is_fed(v)).graph
        with graph.as_default():
            self._tensors = [convert_to_tensor(v) for v in values]
        self._rows = rows
        self._what = what
        self._arrays = None
        for tensor in self._tensors if rows else []:
            if tensor.shape.ndims == 0:
                raise InvalidArgumentError(
                    f"Dataset.{what}: {tensor!r} is a scalar, which has no rows"
                )

    @property
    def types(self):
        """Of the components of an element."""
        return [(t.dtype, self._dims(t.shape)) for t in self._tensors]

    def _dims(self, shape):
        dims = TensorShape(shape).dims
        return dims[1:] if self._rows and dims is not None else dims

    def take(self, graph):
        """A tensor of the graph that, when it is run, takes the values."""
        if any(t.graph is not graph for t in self._tensors):
            raise InvalidArgumentError(
                f"Dataset.{self._what}: its tensors are of another graph than the "
                "iterator"
            )
        return py_func(self._take, self._tensors, bool, name="TakeFed")

    def _take(self, *arrays):
        if self._rows and len({len(a) for a in arrays}) > 1:
            raise InvalidArgumentError(
                f"Dataset.{self._what}: the tensors have shapes "
                f"{[a.shape for a in arrays]}, expected as many rows of each"
            )
        self._arrays = [np.array(a) for a in arrays]
        return True

    def begin(self):
        """A function that gives an element at a time, and None at the end."""
        if self._arrays is None:
            raise InvalidArgumentError(
                f"Dataset.{self._what}: its tensors have no value yet; make an "
                "initializable iterator and run its initializer with what they "
                "are fed"
            )
        elements = zip(*self._arrays) if self._rows else iter([self._arrays])  # noqa: B905
        return lambda: _element(next(elements, None))


def _element(parts):
    return None if parts is None else [np.asarray(part) for part in parts]
