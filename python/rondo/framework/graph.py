"""Graph: what a program builds; its scopes and collections."""

import contextlib
import threading

from .. import _core
from ..errors import InvalidArgumentError
from .device import DeviceStack


class GraphKeys:
    """Names of collections that parts of a program keep for each other."""

    GLOBAL_VARIABLES = "variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    INITIALIZERS = "initializers"
    LOCAL_VARIABLES = "local_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    GLOBAL_STEP = "global_step"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    SUMMARIES = "summaries"
    UPDATE_OPS = "update_ops"
    QUEUE_RUNNERS = "queue_runners"
    MODEL_VARIABLES = "model_variables"
    METRIC_VARIABLES = "metric_variables"
    TABLE_INITIALIZERS = "table_initializer"
    SAVERS = "savers"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    TRAIN_OP = "train_op"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"


class Graph:
    """The operations of a program. One thread at a time builds it."""

    def __init__(self):
        self._core = _core.Graph()
        self._collections = {}
        # Python functions that operations of this graph call.
        self._host_functions = []
        # By operation, gradients to take instead of its own.
        self._gradient_overrides = {}
        # What variable scopes keep: variables by name, and names in use.
        self._variables = {}
        self._scope_names = {}
        self._variable_scope = None
        # Data sets that iterators take elements from; shuffles without a seed.
        self._datasets = []
        self._shuffles = 0
        # Where variables are kept; "": their worker's own container.
        self.container_name = ""
        self._devices = DeviceStack()
        self._finalized = False
        # Vectors of uint8 that are text: a run gives bytes for them.
        self._texts = set()

    @contextlib.contextmanager
    def as_default(self):
        """with graph.as_default(): operations are added to this graph."""
        _defaults.graphs.append(self)
        try:
            yield self
        finally:
            remove_last(_defaults.graphs, self)

    def get_operations(self):
        """All operations, in the order in which they were made."""
        return [Operation(node, self) for node in self._core.nodes]

    def get_operation_by_name(self, name):
        node = self._core.find(name)
        if node is None:
            raise InvalidArgumentError(f'the graph has no operation "{name}"')
        return Operation(node, self)

    def get_tensor_by_name(self, name):
        """ "name", "name:0" or "name:1"."""
        from .tensor import Tensor

        return Tensor(self._core.value(name), self)

    def as_graph_element(self, what):
        """The tensor or operation that an object or a name stands for."""
        from .tensor import Tensor

        if isinstance(what, str):
            if ":" in what:
                return self.get_tensor_by_name(what)
            op = self.get_operation_by_name(what)
            return op.outputs[0] if op.outputs else op
        if hasattr(what, "_as_tensor"):
            what = what._as_tensor()
        if not isinstance(what, (Tensor, Operation)):
            raise InvalidArgumentError(
                f"{what!r} is neither a tensor nor an operation nor a name of one"
            )
        if what.graph is not self:
            raise InvalidArgumentError(f"{what!r} is of another graph")
        return what

    def unique_name(self, name):
        return self._core.unique_name(name)

    @contextlib.contextmanager
    def name_scope(self, name):
        """Names of operations made within begin with this one.

        A name that ends in "/" is entered as it is; None or "" leaves all
        scopes. Gives the scope's whole name, "outer/name/".
        """
        whole = self._core.enter_name_scope(name or "/")
        try:
            yield whole
        finally:
            self._core.exit_scope()

    @contextlib.contextmanager
    def device(self, name):
        """Operations made within ask for this device, such as "/cpu:0".

        A function is called with each operation, and gives a name; what it leaves
        open is as outside. None leaves all device scopes.
        """
        by_name = isinstance(name, str)
        if not (by_name or name is None or callable(name)):
            raise InvalidArgumentError(
                f"device: {name!r}; expected a name such as '/cpu:0', a function of an "
                "operation that gives one, or None"
            )
        self._devices.push(name)
        if by_name:
            self._core.enter_device_scope(name)
        try:
            yield
        finally:
            if by_name:
                self._core.exit_scope()
            self._devices.pop()

    @contextlib.contextmanager
    def on_device_of(self, op):
        """Operations made within ask for the device that this one asks for, whatever
        scopes are around."""
        with self.device(None), self.device(op.device):
            yield

    def finalize(self):
        """Ends the building: who adds an operation from now on gets an error."""
        self._finalized = True

    @property
    def finalized(self):
        return self._finalized

    def _added(self, node):
        """The operation of a new node, on its device."""
        operation = Operation(node, self)
        if self._devices.decides:
            self._devices.place(node, operation)
        return operation

    def _device_here(self):
        """What the device scopes ask for; None where it depends on the operation."""
        return None if self._devices.decides else self._core.device_scope

    def _check_open(self, op):
        if self._finalized:
            raise RuntimeError(
                f"Graph is finalized and cannot be modified: {op} was to be added. "
                "Build everything before the session or supervisor is made"
            )

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """Operations made within go to the device of this one."""
        self._core.enter_colocate_scope(node_of(op), ignore_existing)
        try:
            yield
        finally:
            self._core.exit_scope()

    @contextlib.contextmanager
    def container(self, name):
        """Variables made within are kept in this container of their worker, which
        sessions on the same worker share."""
        before, self.container_name = self.container_name, name
        try:
            yield
        finally:
            self.container_name = before

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs):
        """Operations made within run after these; None drops all others."""
        clear = control_inputs is None
        nodes = [] if clear else [node_of(x) for x in control_inputs]
        self._core.enter_control_scope(nodes, clear)
        try:
            yield
        finally:
            self._core.exit_scope()

    def gradient_override_map(self, op_type_map):
        """with graph.gradient_override_map({"Sign": "Straight"}): the gradient of
        the operations made within is the one that RegisterGradient("Straight")
        registered."""
        from .op_gradients import overridden

        return overridden(self, op_type_map)

    def add_to_collection(self, name, value):
        from .tensor import Tensor

        self._collections.setdefault(name, []).append(value)
        tensor = value._as_tensor() if hasattr(value, "_as_tensor") else value
        if isinstance(tensor, Tensor):
            self._core.add_to_collection(name, tensor._value)

    def get_collection(self, name, scope=None):
        """What was added under this name, as a list of its own."""
        items = self._collections.get(name, ())
        if scope is None:
            return list(items)
        return [x for x in items if getattr(x, "name", "").startswith(scope)]

    def get_all_collection_keys(self):
        return [k for k in self._collections if isinstance(k, str)]

    def add_to_collections(self, names, value):
        for name in [names] if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def clear_collection(self, name):
        self._collections.pop(name, None)

    def as_graph_def(self, from_version=None, add_shapes=False):
        """The graph as bytes, for import_meta_graph and TensorBoard."""
        return GraphDef(_core.to_graph_def(self._core))

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    @property
    def seed(self):
        """Where random operations without a seed of their own take theirs."""
        return self._core.seed

    @seed.setter
    def seed(self, seed):
        self._core.seed = seed or 0

    def to_dot(self):
        """The graph in Graphviz's language: for `dot -Tsvg`."""
        return _core.to_dot(self._core)

    def __repr__(self):
        return f"<rondo.Graph of {len(self._core)} operations>"


class GraphDef:
    """A graph as the bytes of TensorFlow's message of that name."""

    def __init__(self, data=b""):
        self._data = data

    def SerializeToString(self):
        return self._data

    def ParseFromString(self, data):
        self._data = bytes(data)


class NodeDef:
    """What Operation.node_def has of a node."""

    def __init__(self, name="", op="", device=""):
        self.name = name
        self.op = op
        self.device = device


class Operation:
    """A node of a graph."""

    __slots__ = ("_node", "graph")

    def __init__(self, node, graph):
        self._node = node
        self.graph = graph

    @property
    def name(self):
        return self._node.name

    @property
    def type(self):
        """The operation's name in the registry, such as "MatMul"."""
        return self._node.op

    @property
    def inputs(self):
        from .tensor import Tensor

        return [Tensor(v, self.graph) for v in self._node.inputs]

    @property
    def outputs(self):
        from .tensor import Tensor

        return [Tensor(v, self.graph) for v in self._node.outputs]

    @property
    def control_inputs(self):
        return [Operation(n, self.graph) for n in self._node.control_inputs]

    @property
    def device(self):
        return self._node.device

    def colocation_groups(self):
        """Where it goes by colocate_with, as TensorFlow writes it."""
        names = self._node.colocated_with or [self._node.name]
        return [f"loc:@{name}".encode() for name in names]

    @property
    def origin(self):
        """The line of the program that made it: "train.py:12"."""
        return self._node.origin

    @property
    def node_def(self):
        """Name, operation and device, as TensorFlow's message of that name."""
        return NodeDef(self.name, self.type, self.device)

    def get_attr(self, name):
        try:
            return self._node.attrs[name]
        except KeyError:
            raise InvalidArgumentError(
                f'{self._node.describe()} has no attribute "{name}"'
            ) from None

    def run(self, feed_dict=None, session=None):
        """Runs it in the session, or in the default one."""
        from .session import session_for

        session_for(session).run(self, feed_dict)

    def __eq__(self, other):
        if not isinstance(other, Operation):
            return NotImplemented
        return self._node == other._node

    def __hash__(self):
        return hash(self._node)

    def __repr__(self):
        return f"<rondo.Operation {self._node.describe()}>"


def node_of(what):
    """The core's node of an operation, tensor, variable or the like."""
    if isinstance(what, Operation):
        return what._node
    tensor = what._as_tensor() if hasattr(what, "_as_tensor") else what
    if not hasattr(tensor, "_value"):
        raise InvalidArgumentError(f"{what!r} is neither an operation nor a tensor")
    return tensor._value.node


class _Defaults(threading.local):
    def __init__(self):
        self.graphs = []


_defaults = _Defaults()
# Of all threads, until one enters another; replaced by reset_default_graph.
_global = [Graph()]


def remove_last(stack, item):
    """Takes the innermost of an item off: the same one may be entered twice, and
    what was entered by hand may be left in another order."""
    for i in reversed(range(len(stack))):
        if stack[i] is item:
            del stack[i]
            return


def get_default_graph():
    """The graph that operations without inputs are added to."""
    return _defaults.graphs[-1] if _defaults.graphs else _global[0]


def reset_default_graph():
    """Begins a new default graph; not within graph.as_default()."""
    if _defaults.graphs:
        raise InvalidArgumentError("reset_default_graph: within as_default()")
    _global[0] = Graph()


@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """Names of operations made within begin with `name`, or `default_name`."""
    name = default_name if name is None else name
    with get_default_graph().name_scope(name) as scope:
        yield scope


def device(name):
    """Operations made within ask for this device, such as "/cpu:0"."""
    return get_default_graph().device(name)


def colocate_with(op, ignore_existing=False):
    """Operations made within go to the device of this one."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(name):
    """Variables made within are kept in this container of their worker."""
    return get_default_graph().container(name)


def control_dependencies(control_inputs):
    """Operations made within run after these; None drops all others."""
    return get_default_graph().control_dependencies(control_inputs)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def get_collection(name, scope=None):
    """What was added to the default graph under this name."""
    return get_default_graph().get_collection(name, scope)


def set_random_seed(seed):
    """The default graph's seed: the same one gives the same numbers."""
    get_default_graph().seed = seed
