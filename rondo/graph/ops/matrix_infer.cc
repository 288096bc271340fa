#include "rondo/graph/ops/matrix_infer.h"

#include <algorithm>

namespace rondo::infer {
namespace {

Status want_matrices(InferContext& c, int i, std::string_view name) {
  if (c.shape(i).has_rank() && c.shape(i).rank() < 2)
    return error(Code::kInvalidArgument,
                 "{} has shape {}, expected at least rank 2", name,
                 c.shape(i).to_string());
  return {};
}

// Also fills in one of the last two extents from the other.
Result<PartialShape> square(InferContext& c, int i, std::string_view name) {
  RONDO_RETURN_IF_ERROR(want_matrices(c, i, name));
  PartialShape shape = c.shape(i);
  if (!shape.has_rank()) return shape;
  const int last = shape.rank() - 1;
  if (shape[last] == kAny) shape.set(last, shape[last - 1]);
  if (shape[last - 1] == kAny) shape.set(last - 1, shape[last]);
  if (shape[last] != shape[last - 1])
    return error(Code::kInvalidArgument,
                 "{} has shape {}, expected square matrices in the last two "
                 "axes",
                 name, shape.to_string());
  return shape;
}

PartialShape leading(const PartialShape& shape, int without) {
  const auto all = shape.extents();
  return PartialShape(
      Ints(all.begin(), all.end() - static_cast<ptrdiff_t>(without)));
}

PartialShape with(const PartialShape& batch, std::initializer_list<int64_t> e) {
  Ints all(batch.extents().begin(), batch.extents().end());
  all.insert(all.end(), e);
  return PartialShape(std::move(all));
}

int64_t smaller(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a == kAny || b == kAny ? kAny : std::min(a, b);
}

struct Sides {
  int64_t outer = kAny;
  int64_t inner = kAny;
};

// Rows and columns of a left factor, or columns and rows of a right one.
Sides sides(const PartialShape& shape, bool swap) {
  if (!shape.has_rank()) return {};
  const int rank = shape.rank();
  Sides s{shape[rank - 2], shape[rank - 1]};
  if (swap) std::swap(s.outer, s.inner);
  return s;
}

Status check_inner(InferContext& c, const Sides& a, const Sides& b, bool ta,
                   bool tb) {
  if (a.inner == kAny || b.inner == kAny || a.inner == b.inner) return {};
  return error(Code::kInvalidArgument,
               "{}{} and {}{} cannot be multiplied: the first has {} columns, "
               "the second {} rows",
               c.shape(0).to_string(), ta ? " transposed" : "",
               c.shape(1).to_string(), tb ? " transposed" : "", a.inner,
               b.inner);
}

}  // namespace

Status matmul(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 2, "a"));
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 2, "b"));
  const bool ta = c.attr<bool>("transpose_a"), tb = c.attr<bool>("transpose_b");
  const Sides a = sides(c.shape(0), ta), b = sides(c.shape(1), !tb);
  RONDO_RETURN_IF_ERROR(check_inner(c, a, b, ta, tb));
  c.output(c.dtype(0), {a.outer, b.outer});
  return {};
}

Status batch_matmul(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_matrices(c, 0, "x"));
  RONDO_RETURN_IF_ERROR(want_matrices(c, 1, "y"));
  const bool ax = c.attr<bool>("adj_x"), ay = c.attr<bool>("adj_y");
  const Sides x = sides(c.shape(0), ax), y = sides(c.shape(1), !ay);
  RONDO_RETURN_IF_ERROR(check_inner(c, x, y, ax, ay));
  if (!c.shape(0).has_rank() || !c.shape(1).has_rank()) {
    c.output(c.dtype(0), {});
    return {};
  }
  auto batch = broadcast(leading(c.shape(0), 2), leading(c.shape(1), 2));
  if (!batch.ok())
    return error(Code::kInvalidArgument,
                 "the leading extents of {} and {} do not broadcast",
                 c.shape(0).to_string(), c.shape(1).to_string());
  c.output(c.dtype(0), with(*batch, {x.outer, y.outer}));
  return {};
}

Status square_like_input(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, square(c, 0, "the input"));
  c.output(c.dtype(0), shape);
  return {};
}

Status determinant(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, square(c, 0, "x"));
  c.output(c.dtype(0), shape.has_rank() ? leading(shape, 2) : shape);
  return {};
}

Status solve(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape matrix, square(c, 0, "matrix"));
  RONDO_RETURN_IF_ERROR(want_matrices(c, 1, "rhs"));
  if (!matrix.has_rank() || !c.shape(1).has_rank()) {
    c.output(c.dtype(0), c.shape(1));
    return {};
  }
  const PartialShape& rhs = c.shape(1);
  auto shape = merge(with(leading(matrix, 1), {rhs[rhs.rank() - 1]}), rhs);
  if (!shape.ok())
    return error(Code::kInvalidArgument,
                 "rhs has shape {}, expected {}, as the matrices have shape {}",
                 rhs.to_string(),
                 with(leading(matrix, 1), {rhs[rhs.rank() - 1]}).to_string(),
                 matrix.to_string());
  c.output(c.dtype(0), *shape);
  return {};
}

Status diag(InferContext& c) {
  const PartialShape& x = c.shape(0);
  if (!x.has_rank()) {
    c.output(c.dtype(0), {});
    return {};
  }
  if (x.rank() == 0)
    return error(Code::kInvalidArgument,
                 "a scalar has no axis to be a diagonal");
  c.output(c.dtype(0), with(x, {x[x.rank() - 1]}));
  return {};
}

Status diag_part(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_matrices(c, 0, "x"));
  const PartialShape& x = c.shape(0);
  c.output(c.dtype(0), x.has_rank()
                           ? with(leading(x, 2),
                                  {smaller(x[x.rank() - 2], x[x.rank() - 1])})
                           : PartialShape());
  return {};
}

Status set_diag(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_matrices(c, 0, "x"));
  const PartialShape& x = c.shape(0);
  if (x.has_rank()) {
    const PartialShape wanted =
        with(leading(x, 2), {smaller(x[x.rank() - 2], x[x.rank() - 1])});
    if (!wanted.compatible(c.shape(1)))
      return error(Code::kInvalidArgument,
                   "the diagonal has shape {}, expected {}",
                   c.shape(1).to_string(), wanted.to_string());
  }
  c.output(c.dtype(0), x);
  return {};
}

Status band_part(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_matrices(c, 0, "x"));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

}  // namespace rondo::infer
