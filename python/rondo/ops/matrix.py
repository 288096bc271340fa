"""Products, inverses and decompositions of matrices."""

from .. import _core
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor, graph_of, one
from ..framework.tensor import Tensor


def matmul(a, b, transpose_a=False, transpose_b=False, name=None):
    """The product of matrices; of the last two axes of tensors of higher rank."""
    a, b = _together(a, b)
    if (a.shape.ndims or 0) > 2 or (b.shape.ndims or 0) > 2:
        attrs = {"adj_x": transpose_a, "adj_y": transpose_b}
        return one("BatchMatMul", [a, b], attrs, name)
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return one("MatMul", [a, b], attrs, name)


def batch_matmul(x, y, adj_x=False, adj_y=False, name=None):
    """The products of the last two axes; the axes before them broadcast."""
    return one("BatchMatMul", [x, y], {"adj_x": adj_x, "adj_y": adj_y}, name)


def _together(a, b):
    graph = graph_of([a, b])
    if hasattr(a, "dtype") and hasattr(a, "graph"):
        a = convert_to_tensor(a)
        return a, convert_to_tensor(
            b, None if hasattr(b, "graph") else a.dtype, graph=graph
        )
    b = convert_to_tensor(b, graph=graph)
    return convert_to_tensor(a, b.dtype, graph=graph), b


def matrix_inverse(input, adjoint=False, name=None):
    """The inverses of square matrices."""
    return one("MatrixInverse", [input], {"adjoint": adjoint}, name)


def matrix_determinant(input, name=None):
    """The determinants of square matrices."""
    return one("MatrixDeterminant", [input], name=name)


def matrix_solve(matrix, rhs, adjoint=False, name=None):
    """The x of matrix x = rhs."""
    return one("MatrixSolve", [matrix, rhs], {"adjoint": adjoint}, name)


def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """The x of matrix x = rhs for a triangular matrix."""
    attrs = {"lower": lower, "adjoint": adjoint}
    return one("MatrixTriangularSolve", [matrix, rhs], attrs, name)


def cholesky(input, name=None):
    """The lower triangular matrices whose squares the input are."""
    return one("Cholesky", [input], name=name)


def matrix_diag(diagonal, name=None):
    """Square matrices with these diagonals."""
    return one("MatrixDiag", [diagonal], name=name)


def matrix_diag_part(input, name=None):
    """The diagonals of matrices."""
    return one("MatrixDiagPart", [input], name=name)


def matrix_set_diag(input, diagonal, name=None):
    """Matrices with other diagonals."""
    return one("MatrixSetDiag", [input, diagonal], name=name)


def matrix_band_part(input, num_lower, num_upper, name=None):
    """Matrices with only a band around their diagonals; -1: all of that half."""
    attrs = {"num_lower": num_lower, "num_upper": num_upper}
    return one("MatrixBandPart", [input], attrs, name)


def einsum(equation, *inputs, name=None):
    """Einstein summation: "ij,jk->ik" multiplies matrices."""
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = inputs[0]
    if not inputs:
        raise InvalidArgumentError("einsum: it needs operands")
    graph = graph_of(inputs)
    tensors = [convert_to_tensor(x, graph=graph) for x in inputs]
    with graph.name_scope(name or "einsum"):
        return Tensor(_core.einsum(equation, [t._value for t in tensors]), graph)
