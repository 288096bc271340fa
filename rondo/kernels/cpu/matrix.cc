#include <algorithm>
#include <cstring>

#include "rondo/base/short_vector.h"
#include "rondo/kernels/cpu/gemm.h"
#include "rondo/kernels/cpu/matmul_primitive.h"
#include "rondo/kernels/cpu/matrix_kernels.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

class MatMul final : public Kernel {
 public:
  explicit MatMul(const Node& node)
      : shape_{.transpose_a = node.attrs().get<bool>("transpose_a"),
               .transpose_b = node.attrs().get<bool>("transpose_b")} {}

  Status run(KernelContext& c) override {
    GemmShape s = shape_;
    const Tensor& a = c.input(0);
    const Tensor& b = c.input(1);
    if (a.shape().rank() != 2 || b.shape().rank() != 2)
      return error(Code::kInvalidArgument, "{} and {} are not both matrices",
                   a.shape().to_string(), b.shape().to_string());
    RONDO_RETURN_IF_ERROR(find_sides(a, b, s));
    Tensor& y = c.allocate(0, a.dtype(), {s.m, s.n});
    if (a.dtype() == DType::kF32 && suits_primitive(s))
      return primitives_.run(c, s, a.data(), b.data(), nullptr, y.data());
    gemm(a.dtype(), s, a.data(), b.data(), y.data());
    return {};
  }

 private:
  const GemmShape shape_;
  MatMulPrimitives primitives_;
};

// How the matrices of two batches meet: for each of the product, which of x and
// which of y.
class Pairs {
 public:
  FewInts batch;      // leading extents of the product
  int64_t count = 1;  // their product

  Status pair_up(const Shape& x, const Shape& y) {
    const int rank = std::max(x.rank(), y.rank()) - 2;
    const auto extent = [&](const Shape& s, int axis) {
      const int own = axis - (rank - (s.rank() - 2));
      return own < 0 ? 1 : s[own];
    };
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t ex = extent(x, axis), ey = extent(y, axis);
      if (ex != ey && ex != 1 && ey != 1)
        return error(Code::kInvalidArgument,
                     "the leading extents of {} and {} do not broadcast",
                     x.to_string(), y.to_string());
      const int64_t e = ex == 1 ? ey : ex;
      batch.push_back(e);
      count *= e;
      x_.push_back(ex);
      y_.push_back(ey);
    }
    return {};
  }
  int64_t x(int64_t i) const { return index(x_, i); }
  int64_t y(int64_t i) const { return index(y_, i); }

 private:
  // Among matrices whose leading extents are `own`, the one for that of the
  // product's number i.
  int64_t index(const FewInts& own, int64_t i) const {
    int64_t at = 0;
    int64_t stride = 1;
    for (size_t axis = batch.size(); axis-- > 0;) {
      if (own[axis] != 1) at += i % batch[axis] * stride;
      stride *= own[axis];
      i /= batch[axis];
    }
    return at;
  }

  FewInts x_, y_;  // leading extents; 1 is the same for all
};

class BatchMatMul final : public Kernel {
 public:
  explicit BatchMatMul(const Node& node)
      : shape_{.transpose_a = node.attrs().get<bool>("adj_x"),
               .transpose_b = node.attrs().get<bool>("adj_y")} {}

  Status run(KernelContext& c) override {
    GemmShape s = shape_;
    const Tensor& x = c.input(0);
    const Tensor& y = c.input(1);
    RONDO_RETURN_IF_ERROR(find_sides(x, y, s));
    Pairs pairs;
    RONDO_RETURN_IF_ERROR(pairs.pair_up(x.shape(), y.shape()));
    FewInts extents = pairs.batch;
    extents.push_back(s.m);
    extents.push_back(s.n);
    Tensor& out = c.allocate(0, x.dtype(), Shape(extents));
    if (out.count() == 0) return {};
    int64_t count = pairs.count;
    if (y.shape().rank() == 2 && !s.transpose_a) {
      // One right factor for all: the left ones are the rows of one matrix.
      s.m *= count;
      count = 1;
    }
    multiply(s, pairs, count, x, y, out);
    return {};
  }

 private:
  static void multiply(const GemmShape& s, const Pairs& pairs, int64_t count,
                       const Tensor& x, const Tensor& y, Tensor& out) {
    const auto size = static_cast<int64_t>(size_of(x.dtype()));
    const auto* a = static_cast<const std::byte*>(x.data());
    const auto* b = static_cast<const std::byte*>(y.data());
    auto* to = static_cast<std::byte*>(out.data());
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        gemm(x.dtype(), s, a + pairs.x(i) * s.m * s.k * size,
             b + pairs.y(i) * s.k * s.n * size, to + i * s.m * s.n * size);
      }
    };
    // Many products: one thread each; few: all threads in each.
    if (count < intra_op_threads())
      range(0, count);
    else
      parallel_for(count,
                   std::max<int64_t>(1, (1 << 15) / (s.m * s.n * s.k + 1)),
                   range);
  }

  const GemmShape shape_;
};

}  // namespace

void register_matrix_kernels(KernelRegistry& kernels) {
  kernels.add("MatMul", "cpu", from_class<MatMul>());
  kernels.add("BatchMatMul", "cpu", from_class<BatchMatMul>());
  register_solve_kernels(kernels);
  register_diag_kernels(kernels);
}

}  // namespace rondo
