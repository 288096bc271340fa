"""Cells of recurrent networks: one step each."""

import collections

from .. import initializers as _initializers
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.dtypes import as_dtype, float32
from ..framework.nest import flatten as _flat  # noqa: F401
from ..framework.nest import map_structure as _map
from ..framework.nest import pack as _packed  # noqa: F401
from ..framework.variable_scope import get_variable, variable_scope
from . import array, math, matrix, nn

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ("c", "h"))


class RNNCell:
    """The base. A cell of one's own has `state_size` (a number, or a tuple of sizes
    as the state is a tuple of tensors), `output_size`, `build(depth)`, which gets
    its variables, and `call(inputs, state)`, which gives (output, new state)."""

    def __init__(self, name, reuse=None, dtype=None):
        self.name = name
        self.dtype = as_dtype(dtype) if dtype is not None else float32
        self.built = False
        self._reuse = reuse
        self._scope = None

    @property
    def state_size(self):
        raise NotImplementedError

    @property
    def output_size(self):
        raise NotImplementedError

    def build(self, depth):
        """Gets the variables for inputs of this many features. Loops cannot make
        variables, so it is called before one."""

    def call(self, inputs, state):
        raise NotImplementedError

    def prepare(self, depth):
        """build, in the cell's scope, unless that was done."""
        if self.built:
            return
        if depth is None:
            raise InvalidArgumentError(
                f"{self.name}: the last axis of the inputs must be known"
            )
        with variable_scope(None, self.name, reuse=self._reuse):
            self.build(depth)
        self.built = True

    def __call__(self, inputs, state, scope=None):
        inputs = convert_to_tensor(inputs)
        self.prepare(inputs.shape[-1])
        with inputs.graph.name_scope(scope or self.name):
            return self.call(inputs, state)

    def zero_state(self, batch_size, dtype=None):
        """Zeros, as the state is before the first step."""
        dtype = self.dtype if dtype is None else dtype
        return _map(
            lambda size: array.zeros([batch_size, size], dtype), self.state_size
        )


class BasicRNNCell(RNNCell):
    """activation(inputs kernel + state kernel + bias), which is output and state."""

    def __init__(
        self,
        num_units,
        activation=math.tanh,
        reuse=None,
        name="basic_rnn_cell",
        dtype=None,
    ):
        super().__init__(name or "basic_rnn_cell", reuse, dtype)
        self._units = num_units
        self._activation = activation or math.tanh

    @property
    def state_size(self):
        return self._units

    @property
    def output_size(self):
        return self._units

    def build(self, depth):
        shape = [depth + self._units, self._units]
        self._kernel = get_variable("kernel", shape, self.dtype)
        self._bias = get_variable(
            "bias", [self._units], self.dtype, _initializers.zeros()
        )

    def call(self, inputs, state):
        joined = matrix.matmul(array.concat([inputs, state], 1), self._kernel)
        h = self._activation(nn.bias_add(joined, self._bias))
        return h, h


class BasicLSTMCell(RNNCell):
    """A long short-term memory; the state is LSTMStateTuple(c, h)."""

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        reuse=None,
        name="basic_lstm_cell",
        dtype=None,
        initializer=None,
    ):
        super().__init__(name, reuse, dtype)
        if not state_is_tuple:
            raise InvalidArgumentError(
                f"{name}: the state is a tuple (c, h); state_is_tuple must be True"
            )
        self._units = num_units
        self._forget_bias = float(forget_bias)
        self._initializer = initializer

    @property
    def state_size(self):
        return LSTMStateTuple(self._units, self._units)

    @property
    def output_size(self):
        return self._units

    def build(self, depth):
        gates = 4 * self._units
        start = self._initializer
        self._kernel_x = get_variable("kernel_x", [depth, gates], self.dtype, start)
        self._kernel_h = get_variable(
            "kernel_h", [self._units, gates], self.dtype, start
        )
        self._bias = get_variable("bias", [gates], self.dtype, _initializers.zeros())

    def call(self, inputs, state):
        c, h = state
        h, c = nn.lstm_cell(
            inputs, h, c, self._kernel_x, self._kernel_h, self._bias, self._forget_bias
        )
        return h, LSTMStateTuple(c, h)


class LSTMCell(BasicLSTMCell):
    """BasicLSTMCell with an initializer, and with num_proj a product behind it that
    gives the output that many features."""

    def __init__(
        self,
        num_units,
        initializer=None,
        num_proj=None,
        forget_bias=1.0,
        state_is_tuple=True,
        reuse=None,
        name="lstm_cell",
        dtype=None,
    ):
        super().__init__(
            num_units, forget_bias, state_is_tuple, reuse, name, dtype, initializer
        )
        self._proj = num_proj

    @property
    def state_size(self):
        return LSTMStateTuple(self._units, self.output_size)

    @property
    def output_size(self):
        return self._proj or self._units

    def build(self, depth):
        gates = 4 * self._units
        start = self._initializer
        size = self.output_size
        self._kernel_x = get_variable("kernel_x", [depth, gates], self.dtype, start)
        self._kernel_h = get_variable("kernel_h", [size, gates], self.dtype, start)
        self._bias = get_variable("bias", [gates], self.dtype, _initializers.zeros())
        if self._proj:
            self._projection = get_variable(
                "projection/kernel", [self._units, self._proj], self.dtype, start
            )

    def call(self, inputs, state):
        h, (c, _) = super().call(inputs, state)
        if self._proj:
            h = matrix.matmul(h, self._projection)
        return h, LSTMStateTuple(c, h)


class GRUCell(RNNCell):
    """A gated recurrent unit, with reset applied before the candidate's product."""

    def __init__(
        self,
        num_units,
        activation=math.tanh,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name="gru_cell",
        dtype=None,
    ):
        super().__init__(name, reuse, dtype)
        self._units = num_units
        self._activation = activation
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self):
        return self._units

    @property
    def output_size(self):
        return self._units

    def build(self, depth):
        def variables(part, units, bias):
            with variable_scope(part):
                kernel = get_variable(
                    "kernel",
                    [depth + self._units, units],
                    self.dtype,
                    self._kernel_initializer,
                )
                start = self._bias_initializer or _initializers.constant(bias)
                return kernel, get_variable("bias", [units], self.dtype, start)

        self._gates = variables("gates", 2 * self._units, 1.0)
        self._candidate = variables("candidate", self._units, 0.0)

    def call(self, inputs, state):
        def product(h, weights):
            kernel, bias = weights
            joined = array.concat([inputs, h], 1)
            return nn.bias_add(matrix.matmul(joined, kernel), bias)

        gates = math.sigmoid(product(state, self._gates))
        reset, update = array.split(gates, 2, 1)
        candidate = self._activation(product(reset * state, self._candidate))
        h = update * state + (1.0 - update) * candidate
        return h, h


class MultiRNNCell(RNNCell):
    """Cells one behind the other; the state is a tuple of theirs."""

    def __init__(self, cells, state_is_tuple=True, name="multi_rnn_cell"):
        cells = list(cells)
        if not cells:
            raise InvalidArgumentError("MultiRNNCell: it needs at least one cell")
        if len({id(cell) for cell in cells}) != len(cells):
            raise InvalidArgumentError(
                "MultiRNNCell: one cell is there twice, and its layers would share "
                "their variables; make a cell per layer"
            )
        if not state_is_tuple:
            raise InvalidArgumentError("MultiRNNCell: state_is_tuple must be True")
        super().__init__(name, dtype=cells[0].dtype)
        self._cells = cells

    @property
    def state_size(self):
        return tuple(cell.state_size for cell in self._cells)

    @property
    def output_size(self):
        return self._cells[-1].output_size

    def build(self, depth):
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                cell.prepare(depth)
            depth = cell.output_size

    def call(self, inputs, state):
        states = []
        for cell, before in zip(self._cells, state, strict=True):
            inputs, after = cell(inputs, before)
            states.append(after)
        return inputs, tuple(states)


class _Wrapper(RNNCell):
    """The base of cells around a cell, to whose names they add nothing."""

    def __init__(self, cell, name):
        super().__init__(name, dtype=cell.dtype)
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def prepare(self, depth):
        self._cell.prepare(depth)
        self.built = True


class ResidualWrapper(_Wrapper):
    """A cell whose output has its input added."""

    def __init__(self, cell, residual_fn=None, name="residual_wrapper"):
        super().__init__(cell, name)
        self._residual_fn = residual_fn or (lambda inputs, outputs: inputs + outputs)

    def call(self, inputs, state):
        output, state = self._cell(inputs, state)
        return self._residual_fn(inputs, output), state


class DeviceWrapper(_Wrapper):
    """A cell on a device."""

    def __init__(self, cell, device, name="device_wrapper"):
        super().__init__(cell, name)
        self._device = device

    def call(self, inputs, state):
        with inputs.graph.device(self._device):
            return self._cell(inputs, state)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, outputs or states, anew in each step."""

    def __init__(
        self,
        cell,
        input_keep_prob=1.0,
        output_keep_prob=1.0,
        state_keep_prob=1.0,
        seed=None,
        name="dropout_wrapper",
    ):
        super().__init__(cell, name)
        self._input = input_keep_prob
        self._output = output_keep_prob
        self._state = state_keep_prob
        self._seed = seed

    def call(self, inputs, state):
        output, state = self._cell(self._drop(inputs, self._input, 0), state)
        if not _is_one(self._state):
            state = self._drop_state(state)
        return self._drop(output, self._output, 2), state

    def _drop(self, x, keep, offset):
        if _is_one(keep):
            return x
        seed = None if self._seed is None else self._seed + offset
        return nn.dropout(x, keep_prob=keep, seed=seed)

    def _drop_state(self, state):
        # What an LSTM remembers, c, is not dropped.
        if isinstance(state, LSTMStateTuple):
            return LSTMStateTuple(state.c, self._drop(state.h, self._state, 1))
        return _map(lambda x: self._drop(x, self._state, 1), state)


def _is_one(keep):
    return isinstance(keep, (int, float)) and keep == 1


__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
