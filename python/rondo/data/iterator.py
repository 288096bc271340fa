"""Iterator: elements of a data set as tensors of a graph."""

from ..errors import InvalidArgumentError
from ..framework import build
from ..framework.dtypes import as_dtype
from ..framework.graph import get_default_graph
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor
from . import structure as nest


class Iterator:
    """A place in a data set, of which each session has its own.

    At the end of the data, a run that takes an element raises
    rondo.errors.OutOfRangeError.
    """

    def __init__(self, structure, types, graph, name=None, dataset=None):
        self._structure = structure
        self._types = types
        self._graph = graph
        self._name = graph.unique_name(name or "Iterator")
        # The name of what it begins with by itself.
        self._dataset = dataset
        self._initializer = None

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None):
        """An iterator for all data sets of these types: make_initializer."""
        types = [as_dtype(t) for t in nest.flatten(output_types)]
        if output_shapes is None:
            shapes = [None] * len(types)
        else:
            shapes = nest.flatten_up_to(output_types, output_shapes, "output_shapes")
        shapes = [TensorShape(s) for s in shapes]
        return Iterator(
            output_types,
            list(zip(types, shapes)),  # noqa: B905
            get_default_graph(),
            shared_name,
        )

    @property
    def initializer(self):
        """The operation that begins at the start of the data."""
        if self._initializer is None:
            raise InvalidArgumentError(
                f'the iterator "{self._name}" has no initializer: it begins by '
                "itself, or make_initializer gives one"
            )
        return self._initializer

    def make_initializer(self, dataset, name=None):
        """An operation that begins at the start of this data set, the elements of
        which must be of the iterator's types. Where the data set is made of
        placeholders, it is run with what they are fed."""
        theirs = dataset._core.types
        if len(theirs) != len(self._types):
            raise InvalidArgumentError(
                f'the iterator "{self._name}" is for elements of {len(self._types)} '
                f"components, the data set has {len(theirs)}"
            )
        pairs = enumerate(zip(self._types, theirs))  # noqa: B905
        for i, ((dtype, shape), (other, other_shape)) in pairs:
            if dtype != other or not TensorShape(shape).is_compatible_with(other_shape):
                raise InvalidArgumentError(
                    f'component {i} of the iterator "{self._name}" is '
                    f"{dtype.name} {TensorShape(shape)}, of the data set "
                    f"{other.name} {TensorShape(other_shape)}"
                )
        attrs = {"iterator": self._name, "dataset": dataset._attach(self._graph)}
        with self._graph.as_default():
            taken = [fed.take(self._graph) for fed in dataset._fed_parts()]
            with self._graph.control_dependencies(taken):
                return build.make("MakeIterator", [], attrs, name, graph=self._graph)

    def get_next(self, name=None):
        """The next element as tensors, in the structure of the data set's. Each
        call adds an operation, which takes an element of its own in a run."""
        attrs = {
            "iterator": self._name,
            "dataset": self._dataset or "",
            "output_types": [dtype for dtype, _ in self._types],
            "output_shapes": [TensorShape(shape).dims for _, shape in self._types],
        }
        made = build.make("IteratorGetNext", [], attrs, name, graph=self._graph)
        return nest.pack(self._structure, made.outputs)

    @property
    def output_types(self):
        return nest.pack(self._structure, [dtype for dtype, _ in self._types])

    @property
    def output_shapes(self):
        shapes = [TensorShape(shape) for _, shape in self._types]
        return nest.pack(self._structure, shapes)

    @property
    def output_classes(self):
        return nest.pack(self._structure, [Tensor] * len(self._types))
