"""Variable: a tensor that a session keeps between runs."""

from ..errors import InvalidArgumentError, OutOfRangeError
from . import build
from .graph import GraphKeys, get_default_graph, node_of
from .shape import ShapeOfDimensions
from .tensor import Operators


class Variable(Operators):
    """A tensor that a session keeps between runs, and that assignments change.

    `initial_value` is anything that convert_to_tensor takes, or a function that
    gives it. Run `rondo.global_variables_initializer()` before other things.
    `validate_shape`, `caching_device` and `expected_shape` are taken for the sake
    of TensorFlow's programs, and change nothing.
    """

    def __init__(
        self,
        initial_value=None,
        trainable=True,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
    ):
        if variable_def is not None or constraint is not None:
            raise InvalidArgumentError(
                "Variable: variable_def and constraint are not supported"
            )
        if initial_value is None:
            raise InvalidArgumentError("Variable: it needs an initial value")
        graph = build.graph_of([initial_value])
        name = name or "Variable"
        # Initializers wait for nothing but what the initial value needs.
        graph._core.enter_control_scope([], True)
        try:
            if callable(initial_value) and not isinstance(initial_value, Operators):
                initial_value = initial_value()
            initial = build.convert_to_tensor(
                initial_value, dtype, name + "/initial_value", graph=graph
            )
            self._container = graph.container_name
            attrs = {
                "dtype": initial.dtype,
                "shape": initial.shape.dims,
                "container": self._container,
            }
            made = build.make("Variable", [], attrs, name, graph=graph)
            self._tensor = made.outputs[0]
            self._name = made.name
            relative = made.name[len(graph._core.name_scope) :]
            set_it = self._change("Assign", [initial], relative + "/Assign")
        finally:
            graph._core.exit_scope()
        self.initializer = set_it.op
        self.initial_value = initial
        self.trainable = trainable
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        for collection in collections:
            graph.add_to_collection(collection, self)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, self)
        graph.add_to_collection(GraphKeys.INITIALIZERS, set_it)

    @classmethod
    def _of(cls, tensor, set_it, trainable):
        """The variable that is in a graph already: its value, and what sets it to
        its initial one."""
        self = cls.__new__(cls)
        self._tensor = tensor
        attrs = tensor._value.node.attrs
        self._name = attrs["variable"] or tensor.op.name
        self._container = attrs["container"]
        self.initializer = None if set_it is None else set_it.op
        self.initial_value = None if set_it is None else set_it.op.inputs[0]
        self.trainable = trainable
        return self

    def _as_tensor(self):
        return self._tensor

    @property
    def graph(self):
        return self._tensor.graph

    @property
    def op(self):
        return self._tensor.op

    @property
    def name(self):
        return self._tensor.name

    @property
    def dtype(self):
        return self._tensor.dtype

    @property
    def shape(self):
        return self._tensor.shape

    @property
    def device(self):
        return self._tensor.device

    def get_shape(self):
        """The shape, of extents x that have x.value: None where it is not known."""
        return ShapeOfDimensions(self.shape)

    def _attrs(self):
        return {
            "variable": self._name,
            "dtype": self.dtype,
            "shape": self.shape.dims,
            "container": self._container,
        }

    def _change(self, op, inputs, name=None):
        return build.one(op, inputs, self._attrs(), name)

    def _value_for(self, value):
        return build.convert_to_tensor(value, self.dtype, graph=self.graph)

    def value(self):
        """Its value as a tensor."""
        return self._tensor

    def read_value(self):
        """Its value at the time this runs: after control dependencies."""
        made = build.make("Variable", [], self._attrs(), "read", graph=self.graph)
        return made.outputs[0]

    def initialized_value(self):
        """Its value after its initializer: for the initial value of others."""
        with self.graph.control_dependencies([self.initializer]):
            return self.read_value()

    def assign(self, value, name=None):
        """Sets it; gives the new value."""
        return self._change("Assign", [self._value_for(value)], name)

    def assign_add(self, delta, name=None):
        """Adds to it; gives the new value."""
        return self._change("AssignAdd", [self._value_for(delta)], name)

    def assign_sub(self, delta, name=None):
        """Subtracts from it; gives the new value."""
        return self._change("AssignSub", [self._value_for(delta)], name)

    def count_up_to(self, limit):
        """Adds 1; gives what it was before. OutOfRangeError once that is `limit`."""
        from ..ops.critical_section import CriticalSection
        from ..ops.host_call import py_func

        def check(count):
            if count >= limit:
                raise OutOfRangeError(f'"{self._name}" reached its limit of {limit}')
            return count

        def counted():
            before = py_func(check, [self.read_value()], self.dtype)
            before.set_shape([])
            with self.graph.control_dependencies([before.op]):
                after = self._change("AssignAdd", [self._value_for(1)])
                return after - self._value_for(1)

        # One at a time, else two runs would both see the last number.
        with self.graph.as_default(), self.graph.on_device_of(self.op):
            section = CriticalSection(shared_name=f"{self._name}/count_up_to")
        return section.execute(counted, "count_up_to")

    def scatter_update(self, indices, rows, name=None):
        """Sets rows; gives the new value."""
        return self._change("ScatterUpdate", [indices, self._value_for(rows)], name)

    def scatter_add(self, indices, rows, name=None):
        """Adds to rows, those of the same index all; gives the new value."""
        return self._change("ScatterAdd", [indices, self._value_for(rows)], name)

    def is_initialized(self, name=None):
        """Whether it has a value."""
        made = build.make("IsInitialized", [], self._attrs(), name, graph=self.graph)
        return made.outputs[0]

    def eval(self, session=None):
        """Its value, by the session or the default one."""
        return self._tensor.eval(session=session)

    def load(self, value, session=None):
        """Sets it at once."""
        from .session import session_for

        session_for(session).run(self.initializer, {self.initial_value: value})

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return (
            f"<rondo.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
        )


def global_variables(scope=None):
    """All variables of the default graph."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def trainable_variables(scope=None):
    """Those that optimizers change."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def local_variables(scope=None):
    """Those that are not saved: counts of epochs, the sums of metrics."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None):
    """Those of the collection "model_variables"."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope=None):
    """Those that have a moving average."""
    key = GraphKeys.MOVING_AVERAGE_VARIABLES
    return get_default_graph().get_collection(key, scope)


def variables_initializer(variables, name="init"):
    """An operation that sets these variables to their initial values."""
    return group(*[v.initializer for v in variables], name=name)


def global_variables_initializer():
    """An operation that sets all variables to their initial values."""
    return variables_initializer(global_variables())


def local_variables_initializer():
    """An operation that sets all local variables to their initial values."""
    return variables_initializer(local_variables(), "init_local")


def group(*inputs, name=None):
    """An operation that does nothing once all of these have run."""
    flat = []
    for x in inputs:
        flat.extend(x if isinstance(x, (list, tuple)) else [x])
    graph = build.graph_of(flat)
    nodes = [node_of(x) for x in flat]
    return build.make(
        "NoOp", [], name=name or "group", control_inputs=nodes, graph=graph
    )


def no_op(name=None):
    """An operation that does nothing."""
    return build.make("NoOp", [], name=name)


class _Uninitialized:
    """The names of variables without a value: what Session.run gives for it, or a
    call with a session."""

    def __init__(self, variables, flags):
        self._variables = variables
        self._flags = flags

    def _fetched(self):
        def names(there):
            pairs = zip(self._variables, there)  # noqa: B905
            return [v.op.name for v, has_value in pairs if not has_value]

        return self._flags, names

    def __call__(self, session):
        return session.run(self)


def report_uninitialized_variables(
    var_list=None, name="report_uninitialized_variables"
):
    """What a run gives a list of names for: those of the variables without a
    value."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    flags = [v.is_initialized() for v in var_list]
    return _Uninitialized(list(var_list), flags)
