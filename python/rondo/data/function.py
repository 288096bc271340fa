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
            made = _called(function, element, what)
            if made is None:
                raise InvalidArgumentError(f"Dataset.{what}: the function gave None")
            self.structure = made
            outputs = [convert_to_tensor(x) for x in nest.flatten(made)]
        for x in outputs:
            if x.graph is not self.graph:
                raise InvalidArgumentError(
                    f'Dataset.{what}: the function gave "{x.name}", a tensor of '
                    f"another graph; {_INSTEAD}"
                )
        for op in self.graph.get_operations():
            if op.type == "Variable":
                raise InvalidArgumentError(
                    f"Dataset.{what}: the function makes a variable, "
                    f"{op._node.describe()}, which nothing could initialize; {_INSTEAD}"
                )
        self.inputs = [x._value for x in inputs]
        self.outputs = [x._value for x in outputs]


_INSTEAD = (
    "the function is a graph of its own, which runs apart from sessions: use an array, "
    "or do this part to the tensors that get_next gives"
)


def _called(function, element, what):
    try:
        return nest.call(function, element)
    except InvalidArgumentError as e:
        if "is of another graph" not in str(e):
            raise
        raise InvalidArgumentError(f"Dataset.{what}: {e}; {_INSTEAD}") from e
