"""Recurrent networks: a cell, step by step along a sequence."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, one, several
from ..framework.variable_scope import variable_scope
from . import array, math
from .control import while_loop
from .rnn_cell import _flat, _packed


def dynamic_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """(outputs, state): the cell run along inputs [batch, steps, features], in a
    loop of as many steps as the inputs have when they are fed.

    Outputs are [batch, steps, the cell's output_size]. Behind an example's
    sequence_length, [batch], outputs are zeros and the state stays. `dtype` is for
    the state of zeros with which it begins where initial_state is not given. With
    time_major, inputs and outputs begin with the steps, which saves transposing
    them. swap_memory has no meaning here.
    """
    inputs = convert_to_tensor(inputs)
    if inputs.shape.ndims != 3:
        raise InvalidArgumentError(
            f"dynamic_rnn: inputs of shape {inputs.shape}; expected "
            "[batch, steps, features]"
        )
    with variable_scope(scope, "rnn"):
        if not time_major:
            inputs = array.transpose(inputs, [1, 0, 2])
        cell.prepare(inputs.shape[2])
        outputs, state = _loop(
            cell,
            inputs,
            _lengths(sequence_length, inputs.shape[1], inputs.graph),
            _first_state(cell, initial_state, inputs, dtype),
            parallel_iterations or 32,
        )
        if not time_major:
            outputs = array.transpose(outputs, [1, 0, 2])
        return outputs, state


def _loop(cell, inputs, lengths, state, parallel_iterations):
    """Both time-major."""
    steps, batch = _extent(inputs, 0), _extent(inputs, 1)
    size = cell.output_size
    kind = _flat(state)[0].dtype
    outputs = array.zeros([steps, batch, size], kind)
    leaves = _flat(state)

    shapes = [[inputs.shape[1], size] for size in _flat(cell.state_size)]

    def shaped(leaves):
        for leaf, shape in zip(leaves, shapes, strict=True):
            leaf.set_shape(shape)
        return leaves

    def body(time, rest, outputs, *before):
        now, rest = several("TakeRow", [rest, time])
        now.set_shape(inputs.shape[1:])
        old = _packed(state, shaped(before))
        output, new = cell(now, old)
        output, after = _masked(time, lengths, output, list(before), _flat(new))
        outputs = one("SetRow", [outputs, time, output])
        return [time + 1, rest, outputs, *after]

    left = while_loop(
        lambda time, *_: math.less(time, steps),
        body,
        [convert_to_tensor(0, "int64"), inputs, outputs, *leaves],
        parallel_iterations=parallel_iterations,
        name="while",
    )
    outputs = left[2]
    outputs.set_shape([inputs.shape[0], inputs.shape[1], size])
    return outputs, _packed(state, shaped(left[3:]))


def static_rnn(
    cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None
):
    """(outputs, state): the cell run along a list of inputs [batch, features], one
    per step; outputs are a list as well. The graph has the cell once for each
    step."""
    inputs = [convert_to_tensor(x) for x in inputs]
    if not inputs:
        raise InvalidArgumentError("static_rnn: there are no inputs")
    with variable_scope(scope, "rnn"):
        first = inputs[0]
        if first.shape.ndims != 2:
            raise InvalidArgumentError(
                f"static_rnn: inputs of shape {first.shape}; expected [batch, features]"
            )
        cell.prepare(first.shape[1])
        lengths = _lengths(sequence_length, first.shape[0], first.graph)
        state = _first_state(cell, initial_state, array.expand_dims(first, 0), dtype)
        outputs = []
        for time, x in enumerate(inputs):
            output, new = cell(x, state)
            output, after = _masked(time, lengths, output, _flat(state), _flat(new))
            state = _packed(state, after)
            outputs.append(output)
        return outputs, state


def bidirectional_dynamic_rnn(
    cell_fw,
    cell_bw,
    inputs,
    sequence_length=None,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """((outputs, outputs), (state, state)): one cell run along the inputs, another
    from their end to the beginning. The second outputs are in the inputs' order."""
    inputs = convert_to_tensor(inputs)

    def run(cell, x, state, name):
        with variable_scope(name) as inner:
            return dynamic_rnn(
                cell, x, sequence_length, state, dtype, parallel_iterations,
                swap_memory, time_major, inner,
            )  # fmt: skip

    def backwards(x):
        return _reversed(x, sequence_length, 0 if time_major else 1)

    with variable_scope(scope, "bidirectional_rnn"):
        output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, "fw")
        output_bw, state_bw = run(cell_bw, backwards(inputs), initial_state_bw, "bw")
        return (output_fw, backwards(output_bw)), (state_fw, state_bw)


def static_bidirectional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """(outputs, state, state): as bidirectional_dynamic_rnn, along a list of inputs.
    The outputs of both cells are joined."""
    inputs = list(inputs)

    def run(cell, x, state, name):
        with variable_scope(name) as inner:
            return static_rnn(cell, x, state, dtype, sequence_length, inner)

    def backwards(steps):
        if sequence_length is None:
            return steps[::-1]
        turned = _reversed(array.stack(steps), sequence_length, 0)
        return array.unstack(turned, len(steps))

    with variable_scope(scope, "bidirectional_rnn"):
        output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, "fw")
        output_bw, state_bw = run(cell_bw, backwards(inputs), initial_state_bw, "bw")
        outputs = [
            array.concat([f, b], 1)
            for f, b in zip(output_fw, backwards(output_bw), strict=True)
        ]
        return outputs, state_fw, state_bw


def _reversed(x, lengths, axis):
    """From the last step to the first; of each example only as many as it has."""
    if lengths is None:
        return array.reverse(x, [axis])
    return reverse_sequence(x, lengths, seq_axis=axis, batch_axis=1 - axis)


def reverse_sequence(
    input, seq_lengths, seq_axis=None, batch_axis=None, name=None,
    seq_dim=None, batch_dim=None,
):  # fmt: skip
    """The first seq_lengths[i] elements along seq_axis of slice i from the last to
    the first; what is behind them stays. The axes are 0 and 1."""
    seq_axis = seq_dim if seq_axis is None else seq_axis
    batch_axis = (batch_dim or 0) if batch_axis is None else batch_axis
    x = convert_to_tensor(input)
    if {seq_axis, batch_axis} != {0, 1}:
        raise InvalidArgumentError(
            f"reverse_sequence: axes {seq_axis} and {batch_axis}; expected 0 and 1"
        )
    with x.graph.name_scope(name or "reverse_sequence"):
        batch, steps = _extent(x, batch_axis), _extent(x, seq_axis)
        lengths = math.cast(convert_to_tensor(seq_lengths, graph=x.graph), "int64")
        lengths = array.expand_dims(lengths, 1)
        time = array.expand_dims(_int64_range(steps, x.graph), 0)
        last = array.where(math.less(time, lengths), lengths - 1 - time, time)
        example = array.expand_dims(_int64_range(batch, x.graph), 1)
        example = example + array.zeros_like(last)
        if seq_axis == 0:
            last = array.transpose(last, [1, 0])
            example = array.transpose(example, [1, 0])
        places = [example, last] if seq_axis == 1 else [last, example]
        turned = array.gather_nd(x, array.stack(places, 2))
        turned.set_shape(x.shape)
        return turned


def _int64_range(limit, graph):
    with graph.as_default():
        return math.range(0, limit, 1, dtype="int64")


def _extent(x, axis):
    """As a number where it is known."""
    known = x.shape[axis]
    return math.cast(array.shape(x)[axis], "int64") if known is None else known


def _lengths(lengths, batch, graph):
    """The lengths as i64 [batch, 1]."""
    if lengths is None:
        return None
    lengths = convert_to_tensor(lengths, graph=graph)
    if lengths.shape.ndims not in (None, 1) or (
        lengths.shape.ndims == 1
        and None not in (batch, lengths.shape[0])
        and batch != lengths.shape[0]
    ):
        raise InvalidArgumentError(
            f"sequence_length has shape {lengths.shape}; expected one number for each "
            f"of the {'?' if batch is None else batch} examples"
        )
    return array.expand_dims(math.cast(lengths, "int64"), 1)


def _first_state(cell, state, inputs, dtype):
    """The initial state, of inputs [steps, batch, features]."""
    if state is not None:
        if len(_flat(state)) != len(_flat(cell.state_size)):
            raise InvalidArgumentError(
                f"initial_state has {len(_flat(state))} tensors, the state of "
                f"{cell.name} {len(_flat(cell.state_size))}"
            )
        leaves = [convert_to_tensor(x, graph=inputs.graph) for x in _flat(state)]
        return _packed(cell.state_size, leaves)
    if dtype is None:
        raise InvalidArgumentError("it takes either initial_state or dtype")
    return cell.zero_state(_extent(inputs, 1), dtype)


def _masked(time, lengths, output, before, after):
    """Output and state of this step, for the examples that have it."""
    if lengths is None:
        return output, after
    there = math.less(convert_to_tensor(time, "int64", graph=lengths.graph), lengths)
    kept = [
        array.where(there, new, old) for new, old in zip(after, before, strict=True)
    ]
    return array.where(there, output, array.zeros_like(output)), kept


__all__ = [
    "bidirectional_dynamic_rnn",
    "dynamic_rnn",
    "reverse_sequence",
    "static_bidirectional_rnn",
    "static_rnn",
]
