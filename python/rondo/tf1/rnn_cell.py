"""tf.nn.rnn_cell and tf.contrib.rnn's cells, with TensorFlow 1's arguments."""

from ..errors import InvalidArgumentError
from ..ops import math as _math
from ..ops import rnn_cell as _cells
from ..ops.rnn_cell import (  # noqa: F401
    DeviceWrapper,
    DropoutWrapper,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
)
from ._missing import getattr_of

__getattr__ = getattr_of("tf.nn.rnn_cell")


class RNNCell(_cells.RNNCell):
    """The base of cells of one's own.

    Variables are made in build(depth): a loop cannot make them, so those of
    call() are made by tf.nn.static_rnn only.
    """

    def __init__(self, trainable=True, name=None, dtype=None, _reuse=None, **kwargs):
        super().__init__(name or _snake(type(self).__name__), _reuse, dtype)


def _snake(name):
    out = ""
    for i, c in enumerate(name):
        out += "_" + c.lower() if c.isupper() and i else c.lower()
    return out


def _only_tanh(activation, who):
    if activation is not None and getattr(activation, "__name__", "") != "tanh":
        raise InvalidArgumentError(
            f"{who}: its activation is tanh; for another one use GRUCell, BasicRNNCell "
            "or a cell of your own"
        )


class BasicRNNCell(_cells.BasicRNNCell):
    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
        super().__init__(
            num_units, activation or _math.tanh, reuse, name or "basic_rnn_cell", dtype
        )


class BasicLSTMCell(_cells.BasicLSTMCell):
    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
    ):
        _only_tanh(activation, "BasicLSTMCell")
        super().__init__(
            num_units, forget_bias, state_is_tuple, reuse, name or "basic_lstm_cell",
            dtype,
        )  # fmt: skip


class LSTMCell(_cells.LSTMCell):
    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
    ):
        _only_tanh(activation, "LSTMCell")
        if use_peepholes or cell_clip or proj_clip:
            raise InvalidArgumentError(
                "LSTMCell: use_peepholes, cell_clip and proj_clip are not supported"
            )
        super().__init__(
            num_units, initializer, num_proj, forget_bias, state_is_tuple, reuse,
            name or "lstm_cell", dtype,
        )  # fmt: skip


class GRUCell(_cells.GRUCell):
    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
    ):
        super().__init__(
            num_units, activation or _math.tanh, reuse, kernel_initializer,
            bias_initializer, name or "gru_cell", dtype,
        )  # fmt: skip


LSTMBlockCell = BasicLSTMCell
GRUBlockCell = GRUCell
