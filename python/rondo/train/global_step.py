"""The variable that counts steps."""

from ..errors import InvalidArgumentError
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.variable import Variable
from ..ops import array


def get_global_step(graph=None):
    """The graph's variable that counts steps; None when it has none.

    It is in the collection GraphKeys.GLOBAL_STEP, or is a variable of integers
    with the name "global_step".
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if found:
        return found[0]
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        if variable.op.name == "global_step" and variable.dtype.is_integer:
            return variable
    return None


def step_variable(who):
    """The same; an error that names who needs it where there is none."""
    step = get_global_step()
    if step is None:
        raise InvalidArgumentError(
            f"{who}: the graph has no global step; call "
            "get_or_create_global_step() and pass it to minimize()"
        )
    return step


def create_global_step(graph=None):
    """Makes the graph's variable that counts steps; an error where there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise InvalidArgumentError('create_global_step: "global_step" exists already')
    outside = graph.name_scope(None)
    with graph.as_default(), outside, graph.control_dependencies(None):
        return Variable(
            array.zeros([], "int64"),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            name="global_step",
        )


def get_or_create_global_step(graph=None):
    """The graph's variable that counts steps, made where there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor):
    """An error unless it is a scalar of integers."""
    kind = global_step_tensor.dtype
    if not kind.is_integer or global_step_tensor.shape.ndims not in (0, None):
        raise InvalidArgumentError(
            f'the global step "{global_step_tensor.name}" is {kind.name} of shape '
            f"{global_step_tensor.shape}; expected one integer"
        )


def global_step(sess, global_step_tensor):
    """The number of steps that a session has made."""
    return int(sess.run(global_step_tensor))
