"""Tensor: one output of an operation, and what operators do with it."""

from ..errors import InvalidArgumentError
from .graph import Operation
from .shape import ShapeOfDimensions, TensorShape


class Operators:
    """Operators and slices, for tensors and variables. As in TensorFlow 1, ==
    says whether both are the same object; rondo.equal compares elements."""

    __slots__ = ()
    # NumPy leaves `array + tensor` to the tensor.
    __array_ufunc__ = None
    __array_priority__ = 100

    def __add__(self, other):
        return _binary("Add", self, other)

    def __radd__(self, other):
        return _binary("Add", other, self)

    def __sub__(self, other):
        return _binary("Sub", self, other)

    def __rsub__(self, other):
        return _binary("Sub", other, self)

    def __mul__(self, other):
        return _binary("Mul", self, other)

    def __rmul__(self, other):
        return _binary("Mul", other, self)

    def __truediv__(self, other):
        from ..ops import math

        return math.truediv(self, other)

    def __rtruediv__(self, other):
        from ..ops import math

        return math.truediv(other, self)

    def __floordiv__(self, other):
        return _binary("FloorDiv", self, other)

    def __rfloordiv__(self, other):
        return _binary("FloorDiv", other, self)

    def __mod__(self, other):
        return _binary("Mod", self, other)

    def __rmod__(self, other):
        return _binary("Mod", other, self)

    def __pow__(self, other):
        return _binary("Pow", self, other)

    def __rpow__(self, other):
        return _binary("Pow", other, self)

    def __matmul__(self, other):
        from ..ops import matrix

        return matrix.matmul(self, other)

    def __rmatmul__(self, other):
        from ..ops import matrix

        return matrix.matmul(other, self)

    def __neg__(self):
        return _unary("Neg", self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _unary("Abs", self)

    def __invert__(self):
        return _unary("LogicalNot", self)

    def __and__(self, other):
        return _binary("LogicalAnd", self, other)

    __rand__ = __and__

    def __or__(self, other):
        return _binary("LogicalOr", self, other)

    __ror__ = __or__

    def __xor__(self, other):
        return _binary("NotEqual", self, other)

    __rxor__ = __xor__

    def __lt__(self, other):
        return _binary("Less", self, other)

    def __le__(self, other):
        return _binary("LessEqual", self, other)

    def __gt__(self, other):
        return _binary("Greater", self, other)

    def __ge__(self, other):
        return _binary("GreaterEqual", self, other)

    def __getitem__(self, key):
        from ..ops import array

        return array.getitem(self, key)

    def __iter__(self):
        extent = self.shape[0] if self.shape.ndims else None
        if extent is None:
            raise TypeError(
                f'"{self.name}" of shape {self.shape} cannot be iterated over: '
                "its first extent is not known"
            )
        return (self[i] for i in range(extent))

    def __bool__(self):
        raise TypeError(
            f'"{self.name}" has no value while the graph is built, so it is neither '
            "true nor false; use rondo.cond or rondo.where, or `is not None`"
        )

    def __array__(self, dtype=None, copy=None):
        raise InvalidArgumentError(
            f'"{self.name}" has no value until a session runs it: session.run gives '
            "an array"
        )

    def __float__(self):
        self.__array__()

    def __int__(self):
        self.__array__()

    __index__ = __int__


class Tensor(Operators):
    """One output of an operation."""

    __slots__ = ("_value", "graph")

    def __init__(self, value, graph):
        self._value = value
        self.graph = graph

    @property
    def op(self):
        return Operation(self._value.node, self.graph)

    @property
    def value_index(self):
        return self._value.index

    @property
    def name(self):
        """ "layer1/MatMul:0": the operation's name and which output it is."""
        return f"{self._value.node.name}:{self._value.index}"

    @property
    def dtype(self):
        return self._value.dtype

    @property
    def shape(self):
        """What is known of the shape; rondo.shape(x) is the shape of a run."""
        return TensorShape(self._value.shape)

    def get_shape(self):
        """The shape, of extents x that have x.value: None where it is not known."""
        return ShapeOfDimensions(self.shape)

    def set_shape(self, shape):
        """Adds to what is known of the shape."""
        self._value.set_shape(TensorShape(shape).dims)

    @property
    def device(self):
        return self._value.node.device

    def eval(self, feed_dict=None, session=None):
        """Its value, by the session or the default one."""
        from .session import session_for

        return session_for(session).run(self, feed_dict)

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            return NotImplemented
        return self._value == other._value

    def __hash__(self):
        return hash(self._value)

    def __repr__(self):
        return (
            f"<rondo.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
        )


class IndexedSlices:
    """A sparse gradient: row values[k] belongs to row indices[k] of a tensor of
    dense_shape; rows of the same index add up."""

    def __init__(self, values, indices, dense_shape=None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def graph(self):
        return self.values.graph

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def name(self):
        return self.values.name

    @property
    def op(self):
        return self.values.op

    def _as_tensor(self):
        if self.dense_shape is None:
            raise InvalidArgumentError(
                f'the IndexedSlices "{self.name}" do not say of which shape they are'
            )
        return _make("DenseRows", [self.values, self.indices, self.dense_shape])

    def __repr__(self):
        return f"<rondo.IndexedSlices of {self.values!r} at {self.indices!r}>"


def _make(op, inputs):
    from .build import one

    return one(op, inputs)


def _binary(op, x, y):
    return _make(op, [x, y])


def _unary(op, x):
    return _make(op, [x])
