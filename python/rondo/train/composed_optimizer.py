"""Optimizers whose updates are made of several operations."""

from ..framework.tensor import IndexedSlices
from ..framework.variable import group
from ..ops import array, math
from .optimizer import Optimizer, _rate


class _Composed(Optimizer):
    """The base: _values(gradient, variable) gives [(variable or slot, new value)].

    All new values are computed before one of them is set.
    """

    def _update(self, grad, var):
        if isinstance(grad, IndexedSlices):
            grad = grad._as_tensor()
        changes = self._values(grad, var)
        with grad.graph.control_dependencies([value for _, value in changes]):
            return _Done(group(*[v.assign(x).op for v, x in changes]))


class _Done:
    """An operation as apply_gradients takes it."""

    def __init__(self, op):
        self.op = op


class AdadeltaOptimizer(_Composed):
    """Steps as large as the steps before, by the ratio of moving averages of the
    squares of both."""

    def __init__(
        self,
        learning_rate=0.001,
        rho=0.95,
        epsilon=1e-8,
        use_locking=False,
        name="Adadelta",
    ):
        super().__init__(name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _values(self, grad, var):
        squares = self._slot(var, "accum")
        steps = self._slot(var, "accum_update")
        rho, epsilon = _rate(self._rho, var), _rate(self._epsilon, var)
        mean = rho * squares + (1.0 - rho) * math.square(grad)
        step = math.sqrt(steps + epsilon) * math.rsqrt(mean + epsilon) * grad
        return [
            (squares, mean),
            (steps, rho * steps + (1.0 - rho) * math.square(step)),
            (var, var - _rate(self._learning_rate, var) * step),
        ]


class FtrlOptimizer(_Composed):
    """Follow the regularised leader: weights that matter little become 0."""

    def __init__(
        self,
        learning_rate,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="Ftrl",
        accum_name=None,
        linear_name=None,
        l2_shrinkage_regularization_strength=0.0,
    ):
        super().__init__(name)
        self._learning_rate = learning_rate
        self._power = learning_rate_power
        self._initial = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength

    def _values(self, grad, var):
        squares = self._slot(var, "accumulator", self._initial)
        linear = self._slot(var, "linear")
        rate = _rate(self._learning_rate, var)
        power = _rate(-self._power, var)
        l1 = _rate(self._l1, var)
        shrunk = grad + 2.0 * self._shrinkage * var if self._shrinkage else grad
        total = squares + math.square(grad)
        after, before = math.pow(total, power), math.pow(squares, power)
        sums = linear + shrunk - (after - before) / rate * var
        beyond = math.sign(sums) * l1 - sums
        weight = beyond / (after / rate + 2.0 * self._l2)
        zero = array.zeros_like(weight)
        kept = array.where(math.greater(math.abs(sums), l1), weight, zero)
        return [(squares, total), (linear, sums), (var, kept)]
