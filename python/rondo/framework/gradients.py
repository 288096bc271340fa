"""gradients: the operations that compute derivatives."""

from .. import _core
from ..errors import InvalidArgumentError
from .build import convert_to_tensor, graph_of
from .tensor import IndexedSlices, Tensor


def gradients(
    ys,
    xs,
    grad_ys=None,
    name=None,
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
):
    """For each of xs the gradient of the sum of all elements of ys.

    A tensor; IndexedSlices where it is sparse, as that of an embedding is; None
    where ys do not depend on it. grad_ys weight the elements of ys, one for
    each of them. The last three arguments are taken for the sake of TensorFlow's
    programs, and change nothing.
    """
    ys, xs = _listed(ys), _listed(xs)
    if not xs or not ys:
        return [None] * len(xs)
    graph = graph_of(ys)
    ys = [convert_to_tensor(y, graph=graph) for y in ys]
    grads = []
    if grad_ys is not None:
        if len(_listed(grad_ys)) != len(ys):
            raise InvalidArgumentError(
                f"gradients: there are {len(_listed(grad_ys))} grad_ys for {len(ys)} ys"
            )
        for y, g in zip(ys, _listed(grad_ys)):  # noqa: B905
            if g is None:
                from ..ops import array

                g = array.ones_like(y)
            grads.append(convert_to_tensor(g, y.dtype, graph=graph))
    graph._check_open("a gradient")
    before = len(graph._core)
    if name:
        graph._core.enter_name_scope(name)
    try:
        found = _core.gradients(
            [y._value for y in ys],
            [convert_to_tensor(x)._value for x in xs],
            [g._value for g in grads],
        )
    finally:
        if name:
            graph._core.exit_scope()
    if graph._devices.decides:
        for node in graph._core.nodes[before:]:
            graph._added(node)
    return [_gradient(g, graph) for g in found]


def _gradient(found, graph):
    if found is None:
        return None
    if isinstance(found, tuple):
        return IndexedSlices(*(Tensor(v, graph) for v in found))
    return Tensor(found, graph)


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]
