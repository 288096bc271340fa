"""A long short-term memory that classifies sequences."""

from .. import layers, nn
from ..framework.variable_scope import AUTO_REUSE, get_variable, variable_scope
from ..initializers import zeros
from ..ops import array, matrix


class LSTM:
    """`layers` layers of `units`, unrolled over the steps, and a fully connected
    layer of `classes` on the last step's output.

    Input: [batch, steps, features], steps and features known.
    """

    def __init__(self, units=128, layers=1, classes=10, forget_bias=1.0, name="lstm"):
        self.units = units
        self.layers = layers
        self.classes = classes
        self.forget_bias = forget_bias
        self.name = name

    def __call__(self, x):
        """The logits, [batch, classes]."""
        with variable_scope(self.name, reuse=AUTO_REUSE):
            x = array.transpose(x, [1, 0, 2])
            for i in range(1, self.layers + 1):
                with variable_scope(f"layer{i}"):
                    outputs = self._layer(x)
                if i < self.layers:
                    x = array.stack(outputs)
            return layers.dense(outputs[-1], self.classes, name="logits")

    def _layer(self, x):
        """The outputs of all steps, from x [steps, batch, features]."""
        steps, batch, features = x.shape.as_list()
        gates = 4 * self.units
        kernel_x = get_variable("kernel_x", [features, gates])
        kernel_h = get_variable("kernel_h", [self.units, gates])
        bias = get_variable("bias", [gates], initializer=zeros())
        # What the input gives to the gates does not wait for the steps before: one
        # product for all of them.
        from_x = nn.bias_add(
            matrix.matmul(array.reshape(x, [-1, features]), kernel_x), bias
        )
        from_x = array.unstack(array.reshape(from_x, [steps, -1, gates]))
        batch = array.shape(x)[1] if batch is None else batch
        h = c = array.zeros([batch, self.units])
        outputs = []
        for now in from_x:
            from_h = matrix.matmul(h, kernel_h)
            h, c = nn.lstm_gates(now, from_h, c, self.forget_bias)
            outputs.append(h)
        return outputs
