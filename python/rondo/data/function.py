"""Functions of elements, built once as graphs."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.graph import Graph, get_default_graph
from ..ops.array import placeholder
from . import structure as nest


class GraphFunction:
    """What `function` makes of placeholders for an element's components.

    `function` gets tensors of a graph of its own. It may use arrays of the
    program's, but neither tensors of other graphs nor variables.
    """

    def __init__(self, function, dataset, what):
        self.graph = Graph()
        self.graph.seed = get_default_graph().seed
        with self.graph.as_default():
            inputs = [
                placeholder(dtype, shape, name=f"component_{i}")
                for i, (dtype, shape) in enumerate(dataset._core.types)
            ]
            element = nest.pack(dataset._structure, inputs)
            made = nest.call(function, element)
            if made is None:
                raise InvalidArgumentError(f"Dataset.{what}: the function gave None")
            self.structure = made
            outputs = [convert_to_tensor(x) for x in nest.flatten(made)]
        for x in outputs:
            if x.graph is not self.graph:
                raise InvalidArgumentError(
                    f'Dataset.{what}: the function gave "{x.name}", a tensor of '
                    "another graph"
                )
        self.inputs = [x._value for x in inputs]
        self.outputs = [x._value for x in outputs]
