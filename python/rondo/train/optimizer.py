"""Optimizers, each update of a variable as one operation.

`use_locking`, `gate_gradients`, `aggregation_method` and
`colocate_gradients_with_ops` are taken for the sake of TensorFlow's programs:
an update is one operation, which is never seen half done.
"""

from ..errors import InvalidArgumentError
from ..framework import build as _build
from ..framework.gradients import gradients as _gradients
from ..framework.tensor import IndexedSlices
from ..framework.variable import Variable, group, trainable_variables
from ..ops import array as _array


class Optimizer:
    """The base. What it keeps for a variable (a slot) is a variable too, named
    "<variable>/<optimizer>/<what>" and not trainable."""

    _op = None
    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, name):
        self._name = name
        self._slots = {}

    def get_name(self):
        return self._name

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """[(gradient, variable)]; None where the loss does not depend on it."""
        loss = _build.convert_to_tensor(loss)
        if var_list is None:
            with loss.graph.as_default():
                var_list = trainable_variables()
        if not var_list:
            raise InvalidArgumentError(f"{self._name}: there are no variables to train")
        grads = _gradients([loss], var_list, None if grad_loss is None else [grad_loss])
        return list(zip(grads, var_list))  # noqa: B905

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An operation that changes each variable by its gradient, and adds one to
        global_step."""
        return self._apply(grads_and_vars, global_step, name)

    def _apply(self, grads_and_vars, global_step, name, instead=None):
        """What `instead` makes of an update's operation runs in its place."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise InvalidArgumentError(
                f"{self._name}: no variable has a gradient; does the loss depend on "
                "any of them?"
            )
        graph = pairs[0][1].graph
        with graph.as_default(), graph.name_scope(name or self._name):
            self._prepare(graph)
            updates = [self._update(g, v).op for g, v in pairs]
            if instead is not None:
                updates = [instead(update) for update in updates]
            with graph.control_dependencies(updates):
                updates += self._finish()
            if global_step is not None:
                # Whoever sees the new step sees what it changed.
                with graph.control_dependencies(updates):
                    updates.append(global_step.assign_add(_one_of(global_step)).op)
            return group(*updates, name="update")

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """compute_gradients, then apply_gradients."""
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        return self.apply_gradients(pairs, global_step, name)

    def get_slot(self, var, name):
        """What it keeps for a variable; None when there is nothing of this name."""
        return self._slots.get((var, name))

    def get_slot_names(self):
        return sorted({name for _, name in self._slots})

    def variables(self):
        """All that it keeps."""
        return list(self._slots.values())

    def _slot(self, var, name, initial=0.0):
        key = (var, name)
        if key not in self._slots:
            graph = var.graph
            label = f"{var.op.name}/{self._name}/{name}"
            # One operation changes both, so it is where the variable is.
            with (
                graph.name_scope(None),
                graph.control_dependencies(None),
                graph.container(var._container),
                graph.on_device_of(var.op),
            ):
                value = _array.fill(var.shape, _build.to_array(initial, var.dtype))
                self._slots[key] = Variable(value, trainable=False, name=label)
        return self._slots[key]

    def _prepare(self, graph):
        """Before the first update of a step is made."""

    def _finish(self):
        """What runs after all updates of a step."""
        return []

    def _slots_of(self, var):
        return []

    def _rates(self, dtype):
        return []

    def _attrs(self):
        return {}

    def _update(self, grad, var):
        slots = self._slots_of(var)
        attrs = {**var._attrs(), **self._attrs()}
        if slots:
            attrs["slots"] = [s._name for s in slots]
        rates = [_rate(r, var) for r in self._rates(var.dtype)]
        if isinstance(grad, IndexedSlices):
            inputs = [grad.values, grad.indices, *rates]
            return _build.one("SparseApply" + self._op, inputs, attrs)
        return _build.one("Apply" + self._op, [grad, *rates], attrs)


def _rate(rate, var):
    """A rate as a tensor; one that is a number has the variable's type."""
    rate = rate() if callable(rate) and not hasattr(rate, "graph") else rate
    if hasattr(rate, "graph"):
        return _build.convert_to_tensor(rate)
    return _build.convert_to_tensor(rate, var.dtype, graph=var.graph)


def _one_of(variable):
    return _build.to_array(1, variable.dtype)


class GradientDescentOptimizer(Optimizer):
    """variable -= learning_rate * gradient."""

    _op = "GradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(name)
        self._learning_rate = learning_rate

    def _rates(self, dtype):
        return [self._learning_rate]


class MomentumOptimizer(Optimizer):
    """velocity = momentum * velocity + gradient; variable -= learning_rate *
    velocity."""

    _op = "Momentum"

    def __init__(
        self,
        learning_rate,
        momentum,
        use_locking=False,
        name="Momentum",
        use_nesterov=False,
    ):
        super().__init__(name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _slots_of(self, var):
        return [self._slot(var, "velocity")]

    def _rates(self, dtype):
        return [self._learning_rate, self._momentum]

    def _attrs(self):
        return {"use_nesterov": self._use_nesterov}


class AdagradOptimizer(Optimizer):
    """accumulator += gradient^2; variable -= learning_rate * gradient /
    sqrt(accumulator)."""

    _op = "Adagrad"

    def __init__(
        self,
        learning_rate,
        initial_accumulator_value=0.1,
        use_locking=False,
        name="Adagrad",
        epsilon=0.0,
    ):
        super().__init__(name)
        self._learning_rate = learning_rate
        self._initial = initial_accumulator_value
        self._epsilon = epsilon

    def _slots_of(self, var):
        return [self._slot(var, "accumulator", self._initial)]

    def _rates(self, dtype):
        return [self._learning_rate, self._epsilon]


class RMSPropOptimizer(Optimizer):
    """Gradients divided by the root of a moving average of their squares."""

    _op = "RMSProp"

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ):
        super().__init__(name)
        self._all = [learning_rate, decay, momentum, epsilon]
        self._centered = centered

    def _slots_of(self, var):
        slots = [self._slot(var, "square", 1.0), self._slot(var, "velocity")]
        return slots + ([self._slot(var, "mean")] if self._centered else [])

    def _rates(self, dtype):
        return self._all


class AdamOptimizer(Optimizer):
    """Adam: moving averages of gradients and of their squares."""

    _op = "Adam"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(name)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._powers = None

    def _prepare(self, graph):
        if self._powers is not None:
            return
        with graph.name_scope(None), graph.control_dependencies(None):
            self._powers = [
                Variable(
                    _build.convert_to_tensor(float(beta)),
                    trainable=False,
                    name=f"{self._name}/beta{i}_power",
                )
                for i, beta in ((1, self._beta1), (2, self._beta2))
            ]

    def _finish(self):
        betas = [self._beta1, self._beta2]
        return [
            p.assign(p * float(b)).op
            for p, b in zip(self._powers, betas)  # noqa: B905
        ]

    def _slots_of(self, var):
        return [self._slot(var, "m"), self._slot(var, "v")]

    def _rates(self, dtype):
        return [
            self._learning_rate,
            self._beta1,
            self._beta2,
            self._epsilon,
            *self._powers,
        ]

    def variables(self):
        return super().variables() + (self._powers or [])


class AdamWOptimizer(AdamOptimizer):
    """Adam, and variables shrink by learning_rate * weight_decay in each step."""

    _op = "AdamW"

    def __init__(
        self,
        weight_decay=0.01,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        name="AdamW",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, name=name)
        self._weight_decay = weight_decay

    def _rates(self, dtype):
        return [*super()._rates(dtype), self._weight_decay]
