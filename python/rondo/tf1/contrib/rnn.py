"""tf.contrib.rnn."""

from ...ops.rnn import (  # noqa: F401
    bidirectional_dynamic_rnn,
    static_bidirectional_rnn,
    static_rnn,
)
from .._missing import getattr_of
from ..rnn_cell import (  # noqa: F401
    BasicLSTMCell,
    BasicRNNCell,
    DeviceWrapper,
    DropoutWrapper,
    GRUBlockCell,
    GRUCell,
    LSTMBlockCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
    RNNCell,
)

__getattr__ = getattr_of("tf.contrib.rnn")
