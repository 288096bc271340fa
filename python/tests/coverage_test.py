"""That the other tests leave no operation out."""

import pytest
from graph_ops import compared_ops

from rondo import _core

# Those that are Rondo's own: tests add operations of libraries.
OPERATIONS = frozenset(_core.operations())

# What only moves tensors about, tested where branches, loops and runs are.
MOVERS = {
    "AllGather": "rondo/train/factor_exchange_test.cc",
    "AllGatherRows": "rondo/train/strategy_test.cc",
    "AllReduce": "rondo/train/strategy_test.cc",
    "Await": "rondo/runtime/control_test.cc",
    "Broadcast": "rondo/train/strategy_test.cc",
    "Enter": "rondo/runtime/control_test.cc",
    "Exit": "rondo/runtime/control_test.cc",
    "LoopCond": "rondo/runtime/control_test.cc",
    "MeanOfRuns": "rondo/train/accumulated_gradients_test.cc",
    "Merge": "rondo/runtime/control_test.cc",
    "NewStack": "rondo/runtime/loop_gradient_test.cc",
    "NextIteration": "rondo/runtime/control_test.cc",
    "NoOp": "rondo/runtime/step_test.cc",
    "Placeholder": "rondo/runtime/session_test.cc",
    "PullSlots": "rondo/train/parameter_server_test.cc",
    "PushPull": "rondo/train/parameter_server_test.cc",
    "PushPullRows": "rondo/train/parameter_server_test.cc",
    "Recv": "rondo/runtime/device_session_test.cc",
    "RowsOfRuns": "rondo/train/accumulated_gradients_test.cc",
    "Send": "rondo/runtime/device_session_test.cc",
    "SetParameters": "rondo/train/parameter_server_test.cc",
    "StackRead": "rondo/runtime/loop_gradient_test.cc",
    "StackWrite": "rondo/runtime/loop_gradient_test.cc",
    "Switch": "rondo/runtime/control_test.cc",
}


def test_every_operation_is_compared(whole_suite):
    if not whole_suite:
        pytest.skip("only a run of all tests can tell")
    left_out = OPERATIONS - compared_ops - set(MOVERS)
    assert not left_out, (
        f"no test compares {sorted(left_out)} with NumPy: use graph_ops.run_op, or "
        "compared where that cannot run it"
    )


def test_movers_are_operations():
    assert set(MOVERS) <= OPERATIONS
