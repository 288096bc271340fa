"""ExponentialMovingAverage: averages of variables over the steps of training."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.variable import Variable, group, trainable_variables
from ..ops import array, math


class ExponentialMovingAverage:
    """average = decay * average + (1 - decay) * value, at every run of apply().

    With `num_updates`, the number of steps so far, the decay begins small:
    min(decay, (1 + num_updates) / (10 + num_updates)). The average of a variable
    begins with its initial value, that of another tensor with 0, which with
    `zero_debias` is corrected for.
    """

    def __init__(
        self,
        decay,
        num_updates=None,
        zero_debias=False,
        name="ExponentialMovingAverage",
    ):
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages = {}

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        """An operation that brings the averages up to date."""
        if var_list is None:
            var_list = trainable_variables()
        for x in var_list:
            if not x.dtype.is_floating:
                raise InvalidArgumentError(
                    f'{self._name}: "{x.name}" is {x.dtype.name}, which has no average'
                )
            if x not in self._averages:
                self._averages[x] = self._make(x)
        return group(*[self._step(x) for x in var_list], name=self._name)

    def average(self, var):
        """The variable that holds the average; None when apply() had not `var`."""
        found = self._averages.get(var)
        return None if found is None else found[0]

    def average_name(self, var):
        """The name under which a Saver has the average."""
        if var in self._averages:
            return self._averages[var][0].op.name
        return f"{var.op.name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables=None):
        """{name: variable} for a Saver that gives variables their averages."""
        if moving_avg_variables is None:
            graph = get_default_graph()
            moving_avg_variables = trainable_variables() + graph.get_collection(
                GraphKeys.MOVING_AVERAGE_VARIABLES
            )
        found = {self.average_name(v): v for v in moving_avg_variables}
        averaged = set(found.values()) | {a for a, _ in self._averages.values()}
        for v in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if v not in averaged and v.op.name not in found:
                found[v.op.name] = v
        return found

    def _make(self, x):
        """(average, number of updates or None)."""
        graph, label = x.graph, f"{x.op.name}/{self._name}"
        with graph.as_default(), graph.name_scope(None):
            with graph.control_dependencies(None):
                if isinstance(x, Variable):
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, x)
                    start = x.initialized_value()
                    return Variable(start, trainable=False, name=label), None
                if not x.shape.is_fully_defined():
                    raise InvalidArgumentError(
                        f'{self._name}: the shape of "{x.name}", {x.shape}, is not '
                        "known, so it has no average"
                    )
                zero = array.zeros(x.shape.as_list(), x.dtype)
                average = Variable(zero, trainable=False, name=label)
                count = None
                if self._zero_debias:
                    none = array.zeros([], x.dtype)
                    count = Variable(none, trainable=False, name=label + "/local_step")
                return average, count

    def _step(self, x):
        average, count = self._averages[x]
        keep = self._rate(x.dtype)
        # What it is once the control dependencies have run.
        value = x.read_value() if isinstance(x, Variable) else convert_to_tensor(x)
        if count is None:
            return average.assign_sub((1.0 - keep) * (average - value)).op
        # The sum of the weights so far is 1 - decay^n: what begins at 0 is that
        # much too small.
        n = count.assign_add(1.0)
        gone = 1.0 - math.pow(keep, n - 1.0)
        total = keep * gone * average + (1.0 - keep) * value
        return average.assign(total / (1.0 - math.pow(keep, n))).op

    def _rate(self, dtype):
        decay = convert_to_tensor(self._decay)
        if self._num_updates is not None:
            n = math.cast(self._num_updates, "float32")
            decay = math.minimum(decay, (1.0 + n) / (10.0 + n))
        return math.cast(decay, dtype)
