"""Making, cutting, joining and moving tensors."""

import builtins

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import (
    convert_to_tensor,
    graph_of,
    make,
    one,
    several,
    shape_tensor,
    static_ints,
)
from ..framework.dtypes import as_dtype, float32
from ..framework.shape import TensorShape
from ..framework.tensor import Tensor
from .math import cast

newaxis = None


def placeholder(dtype=float32, shape=None, name=None):
    """A tensor that every run must be fed."""
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape).dims}
    return make("Placeholder", [], attrs, name).outputs[0]


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor that is part of the graph. With `shape`, the value is brought into
    it; a single one is repeated."""
    if shape is None:
        return convert_to_tensor(value, dtype, name)
    from ..framework.build import to_array

    array = to_array(value, None if dtype is None else as_dtype(dtype))
    shape = TensorShape(shape).as_list()
    if array.size == 1:
        array = np.full(shape, array.reshape(()))
    return convert_to_tensor(array.reshape(shape), None, name)


def fill(dims, value, name=None):
    """A tensor of shape `dims` with every element `value`."""
    return one("Fill", [shape_tensor(dims, graph_of([dims])), value], name=name)


def zeros(shape, dtype=float32, name=None):
    """A tensor of this shape with every element 0."""
    return _filled(shape, 0, dtype, name or "zeros")


def ones(shape, dtype=float32, name=None):
    """A tensor of this shape with every element 1."""
    return _filled(shape, 1, dtype, name or "ones")


def _filled(shape, value, dtype, name):
    graph = graph_of([shape])
    value = convert_to_tensor(
        np.array(value, as_dtype(dtype).as_numpy_dtype), graph=graph
    )
    return one("Fill", [shape_tensor(shape, graph), value], name=name)


def zeros_like(tensor, dtype=None, name=None):
    """Zeros of the shape and type of a tensor, or of another type."""
    made = one("ZerosLike", [tensor], name=name)
    return made if dtype is None else cast(made, dtype)


def ones_like(tensor, dtype=None, name=None):
    """Ones of the shape and type of a tensor, or of another type."""
    made = one("OnesLike", [tensor], name=name)
    return made if dtype is None else cast(made, dtype)


def identity(input, name=None):
    """The tensor itself, as another one."""
    return one("Identity", [input], name=name)


def stop_gradient(input, name=None):
    """The tensor itself, through which no gradient flows back."""
    return one("StopGradient", [input], name=name)


def shape(input, name=None, out_type="int64"):
    """The extents as a vector."""
    return cast(one("Shape", [input], name=name), out_type)


def rank(input, name=None):
    """The number of extents."""
    return one("Rank", [input], name=name)


def size(input, name=None, out_type="int64"):
    """The number of elements."""
    return cast(one("Size", [input], name=name), out_type)


def reshape(tensor, shape, name=None):
    """The elements under another shape; one extent may be -1: what is left."""
    return one("Reshape", [tensor, shape_tensor(shape, graph_of([tensor]))], name=name)


def expand_dims(input, axis, name=None):
    """An axis of extent 1 put in."""
    return one("ExpandDims", [input], {"axis": axis}, name)


def squeeze(input, axis=None, name=None):
    """Axes of extent 1 taken out: all, or those given."""
    axes = [] if axis is None else static_ints(axis)
    return one("Squeeze", [input], {"axes": axes}, name)


def transpose(a, perm=None, name="transpose"):
    """The axes in another order; reversed when none is given."""
    perm = [] if perm is None else static_ints(perm)
    return one("Transpose", [a], {"perm": perm}, name)


def concat(values, axis, name="concat"):
    """Tensors one behind the other along an axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return one("Identity", values, name=name)
    return one("Concat", values, {"axis": axis}, name)


def stack(values, axis=0, name="stack"):
    """Tensors of one shape as slices of one with an axis more."""
    return one("Stack", list(values), {"axis": axis}, name)


def unstack(value, num=None, axis=0, name="unstack"):
    """The slices along an axis as a list."""
    return several("Unstack", [value], {"axis": axis, "num": num}, name)


def split(value, num_or_size_splits, axis=0, name="split"):
    """Parts along an axis: so many of the same extent, or of these extents."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        attrs = {"num": int(num_or_size_splits), "axis": axis}
        return several("Split", [value], attrs, name)
    attrs = {"sizes": static_ints(num_or_size_splits), "axis": axis}
    return several("SplitV", [value], attrs, name)


def tile(input, multiples, name=None):
    """The tensor repeated along every axis."""
    return one("Tile", [input, shape_tensor(multiples, graph_of([input]))], name=name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Elements put before and after along every axis: paddings[i] says how many."""
    if not hasattr(paddings, "graph"):
        paddings = np.asarray(paddings, np.int64)
    attrs = {"mode": mode.upper(), "value": float(constant_values)}
    return one("Pad", [tensor, paddings], attrs, name)


def reverse(tensor, axis, name=None):
    """The elements along some axes from the last to the first."""
    return one("Reverse", [tensor], {"axes": static_ints(axis)}, name)


def broadcast_to(input, shape, name=None):
    """The tensor repeated to the shape, as element-wise operations do."""
    return one(
        "BroadcastTo", [input, shape_tensor(shape, graph_of([input]))], name=name
    )


def gather(params, indices, axis=0, name=None):
    """The slices along an axis that `indices` name."""
    return one("Gather", [params, indices], {"axis": axis}, name)


def gather_nd(params, indices, name=None):
    """What is at the places that the last axis of `indices` names."""
    return one("GatherNd", [params, indices], name=name)


def scatter_nd(indices, updates, shape, name=None):
    """Zeros with `updates` added at `indices`."""
    graph = graph_of([indices, updates])
    return one("ScatterNd", [indices, updates, shape_tensor(shape, graph)], name=name)


def one_hot(
    indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None
):
    """on_value at the index along a new axis, off_value elsewhere."""
    if dtype is None:
        given = next((v for v in (on_value, off_value) if v is not None), None)
        dtype = float32 if given is None else convert_to_tensor(given).dtype
    graph = graph_of([indices, depth])
    on = convert_to_tensor(1 if on_value is None else on_value, dtype, graph=graph)
    off = convert_to_tensor(0 if off_value is None else off_value, dtype, graph=graph)
    attrs = {"axis": -1 if axis is None else axis}
    return one("OneHot", [indices, depth, on, off], attrs, name)


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, y elsewhere; without them, the indices of
    what is true."""
    if x is None and y is None:
        return one("Where", [condition], name=name)
    if x is None or y is None:
        raise InvalidArgumentError("where: it takes both x and y, or neither")
    return one("Select", [condition, x, y], name=name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=0):
    """The slices where the mask, which stands for its rank of axes, is true."""
    graph = graph_of([tensor, mask])
    tensor = convert_to_tensor(tensor, graph=graph)
    mask = convert_to_tensor(mask, "bool", graph=graph)
    axes = mask.shape.ndims
    if axes is None:
        raise InvalidArgumentError(
            f'boolean_mask: the rank of the mask "{mask.name}" is not known'
        )
    with graph.name_scope(name):
        if axes != 1:
            extents = shape(tensor)
            rest = concat([extents[:axis], [-1], extents[axis + axes :]], 0)
            tensor = reshape(tensor, rest)
            mask = reshape(mask, [-1])
        return gather(tensor, squeeze(where(mask), 1), axis)


def slice(input_, begin, size, name=None):
    """The part of extents `size` that begins at `begin`; size -1: to the end."""
    graph = graph_of([input_])
    return one(
        "Slice",
        [input_, shape_tensor(begin, graph), shape_tensor(size, graph)],
        name=name,
    )


def strided_slice(input_, begin, end, strides=None, name=None, **masks):
    """input_[begin:end:strides], entries for the first axes; the masks are
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask."""
    graph = graph_of([input_])
    begin = shape_tensor(begin, graph)
    end = shape_tensor(end, graph)
    strides = (
        one("OnesLike", [begin]) if strides is None else shape_tensor(strides, graph)
    )
    return one("StridedSlice", [input_, begin, end, strides], masks, name)


def getitem(x, key):
    """x[key] for ints, slices, ..., None, scalar tensors and a boolean mask."""
    keys = key if isinstance(key, tuple) else (key,)
    first = keys[0] if len(keys) == 1 else None
    if isinstance(first, np.ndarray) and first.dtype == builtins.bool:
        return boolean_mask(x, first)
    if isinstance(first, Tensor) and first.dtype == "bool":
        return boolean_mask(x, first)
    begin, end, strides = [], [], []
    masks = dict.fromkeys(
        (
            "begin_mask",
            "end_mask",
            "ellipsis_mask",
            "new_axis_mask",
            "shrink_axis_mask",
        ),
        0,
    )
    for i, k in enumerate(keys):
        bit = 1 << i
        b, e, s = 0, 0, 1
        if k is None:
            masks["new_axis_mask"] |= bit
        elif k is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif isinstance(k, builtins.slice):
            s = 1 if k.step is None else k.step
            b = _edge(k.start, masks, "begin_mask", bit)
            e = _edge(k.stop, masks, "end_mask", bit)
        elif hasattr(k, "graph") or isinstance(k, (int, np.integer)):
            masks["shrink_axis_mask"] |= bit
            b, e = k, k + 1
        else:
            raise InvalidArgumentError(
                f"{k!r} is no index of a tensor: expected ints, slices, ..., None, "
                "scalar tensors or a boolean mask; rondo.gather takes lists"
            )
        begin.append(b)
        end.append(e)
        strides.append(s)
    return strided_slice(x, begin, end, strides, **masks)


def _edge(at, masks, mask, bit):
    if at is None:
        masks[mask] |= bit
        return 0
    return at


def unique(x, out_idx="int64", name=None):
    """(values, indices): the different elements of a vector, and which of them
    each element is."""
    values, indices, _ = several("Unique", [x], name=name)
    return values, cast(indices, out_idx)


def unique_with_counts(x, out_idx="int64", name=None):
    """(values, indices, counts): as unique, and how often each occurs."""
    values, indices, counts = several("Unique", [x], name=name)
    return values, cast(indices, out_idx), cast(counts, out_idx)


def invert_permutation(x, name=None):
    """The permutation that takes back what x does."""
    return one("InvertPermutation", [x], name=name)


def sequence_mask(lengths, maxlen=None, dtype="bool", name=None):
    """For every length a row that is true before it."""
    attrs = {"maxlen": -1 if maxlen is None else maxlen, "dtype": as_dtype(dtype)}
    return one("SequenceMask", [lengths], attrs, name)


def take_along_axis(x, indices, axis=-1, name=None):
    """For every place of `indices` the element of x at that index of the axis."""
    return one("TakeAlongAxis", [x, indices], {"axis": axis}, name)
