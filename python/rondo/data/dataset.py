"""Dataset: a description of elements, and what can be made of it."""

import os

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError
from ..framework.build import to_array
from ..framework.dtypes import as_dtype
from ..framework.graph import get_default_graph
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor
from . import structure as nest
from .fed import Fed, is_fed
from .function import GraphFunction
from .iterator import Iterator


def path_of(name):
    """A path as a str: from a str, bytes, a path, or a vector of uint8."""
    if isinstance(name, np.ndarray):
        name = name.tobytes()
    return os.fsdecode(name)


def _arrays(tensors, what):
    arrays = []
    for value in nest.flatten(tensors):
        if isinstance(value, Tensor) and value.op.type == "Const":
            value = value.op.get_attr("value")
        if isinstance(value, Tensor) or hasattr(value, "_as_tensor"):
            raise InvalidArgumentError(
                f"Dataset.{what}: {value!r} has no value yet; give the array: it "
                "does not become part of the graph"
            )
        arrays.append(to_array(value))
    return arrays


class Dataset:
    """Elements, one after another: each a tensor, or a tuple, named tuple or dict
    of tensors.

    A description that never changes; methods give new ones. Work happens when
    elements are asked for: by `for element in dataset`, which gives NumPy
    arrays, or by the tensors of an iterator in a session. What happens to
    elements runs in C++, without Python's lock, but for generators.

    With the same seed, shuffle gives the same order; each pass over a data set
    has its own.
    """

    def __init__(self, core, structure, kept=()):
        self._core = core
        self._structure = structure
        self._kept = kept  # what the core does not know that it needs
        self._passes = 0

    def _like(self, core, *kept):
        return Dataset(core, self._structure, [self, *kept])

    # ---- Sources

    @staticmethod
    def from_tensors(tensors):
        """One element: `tensors`. Placeholders and other tensors of a graph get
        their values when the initializer of an iterator is run."""
        if any(map(is_fed, nest.flatten(tensors))):
            return _fed(tensors, False, "from_tensors")
        return Dataset(
            _core.Dataset.from_tensors(_arrays(tensors, "from_tensors")),
            tensors_of(tensors),
        )

    @staticmethod
    def from_tensor_slices(tensors):
        """One element for each row of `tensors`, which all have as many.
        Placeholders and other tensors of a graph get their values when the
        initializer of an iterator is run."""
        if any(map(is_fed, nest.flatten(tensors))):
            return _fed(tensors, True, "from_tensor_slices")
        arrays = _arrays(tensors, "from_tensor_slices")
        return Dataset(_core.Dataset.from_tensor_slices(arrays), tensors_of(tensors))

    @staticmethod
    def range(*args):
        """int64 scalars as of Python's range: (stop), (start, stop) or with a
        step."""
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(
                f"Dataset.range: expected 1 to 3 numbers, got {len(args)}"
            )
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        return Dataset(_core.Dataset.range(int(start), int(stop), int(step)), None)

    @staticmethod
    def from_generator(generator, output_types, output_shapes=None, args=None):
        """What the iterable that generator(*args) gives, gives: elements of these
        types and shapes, which are checked. A pass calls `generator` again."""
        if not callable(generator):
            raise InvalidArgumentError(
                "Dataset.from_generator: expected a function that gives an iterable"
            )
        dtypes = [as_dtype(t) for t in nest.flatten(output_types)]
        if output_shapes is None:
            shapes = [None] * len(dtypes)
        else:
            shapes = nest.flatten_up_to(output_types, output_shapes, "output_shapes")
        shapes = [TensorShape(s).dims for s in shapes]
        args = tuple(args or ())

        def begin():
            iterator = iter(generator(*args))

            def following():
                try:
                    element = next(iterator)
                except StopIteration:
                    return None
                parts = nest.flatten_up_to(output_types, element, "an element")
                return [to_array(x, t) for x, t in zip(parts, dtypes)]  # noqa: B905

            return following

        types = list(zip(dtypes, shapes))  # noqa: B905
        core = _core.Dataset.from_generator(begin, types)
        return Dataset(core, output_types)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """The paths that match a pattern such as "data/part-*", as vectors of
        uint8; in random order unless `shuffle` is False."""
        files = Dataset(_core.Dataset.list_files(path_of(file_pattern)), None)
        return files if shuffle is False else files.shuffle(1 << 20, seed)

    @staticmethod
    def zip(datasets):
        """A structure of data sets as a data set of such structures; ends with
        the shortest."""
        flat = nest.flatten(datasets)
        for dataset in flat:
            _check_dataset(dataset, "zip")
        structure = nest.pack(datasets, [d._structure for d in flat])
        return Dataset(_core.Dataset.zip([d._core for d in flat]), structure, flat)

    # ---- Functions of elements

    def map(self, map_func, num_parallel_calls=None):
        """map_func(element), built once as a graph from tensors; a tuple is given
        as the function's arguments. `num_parallel_calls` elements are worked on
        at once; their order is kept."""
        function = GraphFunction(map_func, self, "map")
        calls = num_parallel_calls or 0
        if calls == -1:
            calls = os.cpu_count()
        core = self._core.map(
            function.graph._core, function.inputs, function.outputs, calls
        )
        return Dataset(core, tensors_of(function.structure), [self, function])

    def filter(self, predicate):
        """The elements for which `predicate`, built as for map, is true."""
        function = GraphFunction(predicate, self, "filter")
        core = self._core.filter(
            function.graph._core, function.inputs, function.outputs
        )
        return self._like(core, function)

    def interleave(self, map_func, cycle_length, block_length=1):
        """The elements of the data sets that map_func makes of elements:
        `block_length` of each of `cycle_length` in turn.

        Unlike map's, the function gets arrays and is called for each element;
        once, for its types, when this is called.
        """
        first = next(iter(self), None)
        if first is None:
            raise InvalidArgumentError("Dataset.interleave: there are no elements")
        like = nest.call(map_func, first)
        _check_dataset(like, "interleave", "the function gave")

        def function(arrays):
            element = nest.pack(self._structure, [_value(a) for a in arrays])
            dataset = nest.call(map_func, element)
            _check_dataset(dataset, "interleave", "the function gave")
            return dataset._core

        types = [(dtype, _relaxed(shape)) for dtype, shape in like._core.types]
        core = self._core.interleave(function, types, cycle_length, block_length)
        return Dataset(core, like._structure, [self])

    def flat_map(self, map_func):
        """The elements of the data sets that map_func makes of elements, one data
        set after another; map_func is called as by interleave."""
        return self.interleave(map_func, 1)

    # ---- Batches and order

    def batch(self, batch_size, drop_remainder=False):
        """Elements of equal shapes along a new first axis; the last batch may be
        smaller, unless drop_remainder."""
        return self._like(self._core.batch(batch_size, drop_remainder))

    def padded_batch(
        self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False
    ):
        """The same for elements of other shapes, padded at their ends to
        `padded_shapes`, where None is the largest extent in the batch."""
        shapes, values = [], []
        if padded_shapes is not None:
            flat = nest.flatten_up_to(self._structure, padded_shapes, "padded_shapes")
            shapes = [TensorShape(s).dims for s in flat]
        if padding_values is not None:
            flat = nest.flatten_up_to(self._structure, padding_values, "padding_values")
            types = [dtype for dtype, _ in self._core.types]
            if len(flat) == len(types):
                values = [to_array(v, t) for v, t in zip(flat, types)]  # noqa: B905
        return self._like(
            self._core.padded_batch(batch_size, shapes, values, drop_remainder)
        )

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        """Draws each element from the next buffer_size. Without a seed, the order
        follows from the graph's (rondo.set_random_seed), or is unpredictable."""
        core = self._core.shuffle(
            buffer_size, _seed(seed), reshuffle_each_iteration is not False
        )
        return self._like(core)

    def repeat(self, count=None):
        """The elements `count` times; None or -1: for ever."""
        return self._like(self._core.repeat(-1 if count is None else count))

    def take(self, count):
        """The first elements; -1: all."""
        return self._like(self._core.take(count))

    def skip(self, count):
        """All but the first elements; -1: none."""
        return self._like(self._core.skip(count))

    def shard(self, num_shards, index):
        """Each num_shards-th element, from number `index` on."""
        return self._like(self._core.shard(num_shards, index))

    def prefetch(self, buffer_size):
        """A thread makes up to buffer_size elements before they are asked for."""
        return self._like(self._core.prefetch(buffer_size))

    def concatenate(self, dataset):
        """The elements of the other data set after these."""
        _check_dataset(dataset, "concatenate")
        return self._like(self._core.concatenate(dataset._core), dataset)

    def apply(self, transformation_func):
        """transformation_func(self)."""
        return transformation_func(self)

    # ---- What it gives

    def make_one_shot_iterator(self):
        """An iterator of the default graph that begins by itself, once in each
        session."""
        if self._fed_parts():
            raise InvalidArgumentError(
                "Dataset.make_one_shot_iterator: the data set is made of tensors of a "
                "graph, which have no value yet; make_initializable_iterator has an "
                "initializer that takes what they are fed"
            )
        graph = get_default_graph()
        return Iterator(
            self._structure, self._core.types, graph, dataset=self._attach(graph)
        )

    def make_initializable_iterator(self, shared_name=None):
        """An iterator of the default graph that begins when its initializer is
        run, and each time again."""
        graph = get_default_graph()
        iterator = Iterator(self._structure, self._core.types, graph, shared_name)
        iterator._initializer = iterator.make_initializer(self)
        return iterator

    def _fed_parts(self):
        """All that gets its values from a run."""
        parts = [kept for kept in self._kept if isinstance(kept, Fed)]
        for kept in self._kept:
            if isinstance(kept, Dataset):
                parts += [part for part in kept._fed_parts() if part not in parts]
        return parts

    def _attach(self, graph):
        graph._datasets.append(self)
        return self._core.attach(graph._core)

    def __iter__(self):
        """Arrays of one pass after another."""
        iterator = _core.DatasetIterator(self._core, self._passes)
        self._passes += 1
        while True:
            arrays = iterator.next()
            if arrays is None:
                return
            yield nest.pack(self._structure, [_value(a) for a in arrays])

    @property
    def output_types(self):
        return nest.pack(self._structure, [dtype for dtype, _ in self._core.types])

    @property
    def output_shapes(self):
        shapes = [TensorShape(shape) for _, shape in self._core.types]
        return nest.pack(self._structure, shapes)

    @property
    def output_classes(self):
        return nest.pack(self._structure, [Tensor] * len(self._core.types))

    def __repr__(self):
        types = nest.pack(self._structure, [t.name for t, _ in self._core.types])
        kind = type(self).__name__
        return f"<rondo.data.{kind} shapes={self.output_shapes} types={types}>"


def _fed(tensors, rows, what):
    fed = Fed(nest.flatten(tensors), rows, what)
    core = _core.Dataset.from_generator(fed.begin, fed.types)
    return Dataset(core, tensors_of(tensors), [fed])


def tensors_of(structure):
    """The structure without what it is made of."""
    return nest.pack(structure, [None] * len(nest.flatten(structure)))


def _value(array):
    return array[()] if array.ndim == 0 else array


def _relaxed(shape):
    return None if shape is None else [None] * len(shape)


def _check_dataset(dataset, what, how="got"):
    if not isinstance(dataset, Dataset):
        raise InvalidArgumentError(
            f"Dataset.{what}: expected a data set, {how} {dataset!r}"
        )


def _seed(seed):
    """A number of 64 bits from the graph's seed and this one."""
    graph = get_default_graph()
    if seed is None:
        if not graph.seed:
            return None
        graph._shuffles += 1
        seed = graph._shuffles << 32
    return (int(seed) + graph.seed * 0x9E3779B97F4A7C15) % 2**64
