"""Learning rates that fall with the number of steps."""

import math as _math

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..ops import array, math


def _float(x):
    if hasattr(x, "graph"):
        return math.cast(x, "float32")
    return convert_to_tensor(float(x))


def _part(global_step, decay_steps, staircase=False):
    """How many times decay_steps have passed."""
    part = _float(global_step) / _float(decay_steps)
    return math.floor(part) if staircase else part


def exponential_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * decay_rate ^ (global_step / decay_steps)."""
    part = _part(global_step, decay_steps, staircase)
    return math.multiply(
        math.pow(_float(decay_rate), part), _float(learning_rate), name
    )


def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * e ^ (-decay_rate * global_step / decay_steps)."""
    part = _part(global_step, decay_steps, staircase)
    falls = math.exp(math.negative(_float(decay_rate) * part))
    return math.multiply(falls, _float(learning_rate), name)


def inverse_time_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    part = _part(global_step, decay_steps, staircase)
    return math.truediv(_float(learning_rate), 1.0 + _float(decay_rate) * part, name)


def polynomial_decay(
    learning_rate,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name=None,
):
    """From learning_rate to end_learning_rate in decay_steps, as a power of what is
    left. With `cycle` it begins again, each time with a longer period."""
    step, steps = _float(global_step), _float(decay_steps)
    if cycle:
        steps = steps * math.maximum(1.0, math.ceil(step / steps))
    else:
        step = math.minimum(step, steps)
    end = _float(end_learning_rate)
    left = math.pow(1.0 - step / steps, _float(power))
    return math.add((_float(learning_rate) - end) * left, end, name)


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """From learning_rate to alpha times it in decay_steps, as half a wave."""
    part = math.minimum(_part(global_step, decay_steps), 1.0)
    wave = 0.5 * (1.0 + math.cos(part * _math.pi))
    return math.multiply((1.0 - alpha) * wave + alpha, _float(learning_rate), name)


def piecewise_constant(x, boundaries, values, name=None):
    """values[0] up to boundaries[0], values[1] up to boundaries[1], and so on."""
    if len(values) != len(boundaries) + 1:
        raise InvalidArgumentError(
            f"piecewise_constant: {len(boundaries)} boundaries have "
            f"{len(boundaries) + 1} values between them, not {len(values)}"
        )
    x = convert_to_tensor(x)
    value = convert_to_tensor(values[0], graph=x.graph)
    for boundary, then in zip(boundaries, values[1:]):  # noqa: B905
        limit = convert_to_tensor(boundary, x.dtype, graph=x.graph)
        then = convert_to_tensor(then, value.dtype, graph=x.graph)
        value = array.where(math.greater(x, limit), then, value)
    return array.identity(value, name)
