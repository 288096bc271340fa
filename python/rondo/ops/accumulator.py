"""Accumulators: gradients that several runs give and one takes, averaged."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..framework import build
from ..framework.dtypes import as_dtype
from ..framework.graph import Operation, get_default_graph
from ..framework.shape import TensorShape
from ..framework.tensor import IndexedSlices, Tensor


class ConditionalAccumulatorBase:
    """What both kinds do.

    An accumulator counts steps, from 0. A gradient comes with the step for which
    it was computed, and is dropped when that is over. Who takes waits until
    enough gradients are there, and begins the next step. All operations on it ask
    for the device whose scope it was made in.
    """

    _sparse = False

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        self._graph = get_default_graph()
        self._dtype = as_dtype(dtype)
        own = self._graph.unique_name(name)
        self._name = shared_name or own
        self._attrs = {
            "accumulator": self._name,
            "dtype": self._dtype,
            "shape": TensorShape(shape).dims,
            "reduction_type": reduction_type,
            "sparse": self._sparse,
        }
        self._device = None
        # What makes no sense is refused here, not where it is first used.
        self._count = self.num_accumulated()
        # It is where it was made, and so is all that uses it.
        self._device = self._count.op.device

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def graph(self) -> Any:
        return self._graph

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Gradients that nobody has taken yet: int64."""
        return self._make("AccumulatorNumAccumulated", [], name).outputs[0]

    def set_global_step(
        self, new_global_step: Any, name: str | None = None
    ) -> Operation:
        """Gradients of steps before this one are stale. It never goes back."""
        return self._make("AccumulatorSetGlobalStep", [new_global_step], name)

    def resume_at(self, global_step: Any, name: str | None = None) -> Operation:
        """The same, be it an earlier step: after a checkpoint was restored. What it
        has stays."""
        return self._make("AccumulatorResumeAt", [global_step], name)

    def _make(self, op, inputs, name):
        verb = op[op.index("Accumulator") + len("Accumulator") :]
        label = name or f"{self._name.rsplit('/', 1)[-1]}_{verb}"
        return build.make_on(self._device, op, inputs, self._attrs, label, self._graph)

    def _gradient(self, value):
        return build.convert_to_tensor(value, self._dtype, graph=self._graph)

    def __repr__(self) -> str:
        return f'<rondo.{type(self).__name__} "{self._name}">'


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients until somebody takes their average ("MEAN") or "SUM"."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_grad(
        self, grad: Any, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Adds a gradient of this step; drops a stale one."""
        inputs = [local_step, self._gradient(grad)]
        return self._make("AccumulatorApplyGradient", inputs, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The average of all gradients, once there are at least so many."""
        return self._make("AccumulatorTakeGradient", [num_required], name).outputs[0]


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """The same of gradients that are rows of a tensor, as IndexedSlices are. Each
    row that is taken is the average of those gradients that have it."""

    _sparse = True

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Adds a gradient of this step; drops a stale one."""
        if not isinstance(grad, IndexedSlices):
            raise InvalidArgumentError(
                f'the accumulator "{self._name}" takes rondo.IndexedSlices, not '
                f"{grad!r}"
            )
        return self.apply_grad(
            grad.indices, grad.values, grad.dense_shape, local_step, name
        )

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Adds rows of a gradient of this step; drops stale ones."""
        shape = [] if grad_shape is None else grad_shape
        inputs = [
            local_step,
            self._gradient(grad_values),
            grad_indices,
            build.shape_tensor(shape, self._graph),
        ]
        return self._make("SparseAccumulatorApplyGradient", inputs, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> tuple:
        """(indices, values, shape), in the order of the indices, once there are at
        least so many gradients."""
        taken = self.take_indexed_slices_grad(num_required, name)
        return taken.indices, taken.values, taken.dense_shape

    def take_indexed_slices_grad(
        self, num_required: Any, name: str | None = None
    ) -> IndexedSlices:
        """The same as IndexedSlices."""
        op = self._make("SparseAccumulatorTakeGradient", [num_required], name)
        return IndexedSlices(*op.outputs)
