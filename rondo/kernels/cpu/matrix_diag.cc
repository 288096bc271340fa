#include <algorithm>
#include <cstring>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/matrix_kernels.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

// A batch of matrices.
struct Batch {
  int64_t count = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t diagonal() const { return std::min(rows, columns); }
};

Result<Batch> batch_of(const Shape& shape) {
  if (shape.rank() < 2)
    return error(Code::kInvalidArgument, "a tensor of shape {} has no matrices",
                 shape.to_string());
  Batch b{1, shape[shape.rank() - 2], shape[shape.rank() - 1]};
  for (int i = 0; i < shape.rank() - 2; ++i) b.count *= shape[i];
  return b;
}

Ints leading(const Shape& shape, int without) {
  return {shape.extents().begin(), shape.extents().end() - without};
}

template <class T>
void copy_diagonals(const T* from, T* to, const Batch& b, bool out) {
  for (int64_t m = 0; m < b.count; ++m)
    for (int64_t i = 0; i < b.diagonal(); ++i) {
      const int64_t in_matrix = (m * b.rows + i) * b.columns + i;
      const int64_t in_vector = m * b.diagonal() + i;
      to[out ? in_vector : in_matrix] = from[out ? in_matrix : in_vector];
    }
}

Status run_diag(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() < 1)
    return error(Code::kInvalidArgument,
                 "a scalar has no axis to be a diagonal");
  Ints extents = leading(x.shape(), 0);
  extents.push_back(extents.back());
  Tensor& y = c.allocate(0, x.dtype(), Shape(extents));
  std::memset(y.data(), 0, y.bytes());
  RONDO_ASSIGN_OR_RETURN(const Batch b, batch_of(y.shape()));
  dispatch_any(x.dtype(), [&]<class T>() {
    copy_diagonals(x.span<T>().data(), y.span<T>().data(), b, false);
  });
  return {};
}

Status run_diag_part(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Batch b, batch_of(x.shape()));
  Ints extents = leading(x.shape(), 2);
  extents.push_back(b.diagonal());
  Tensor& y = c.allocate(0, x.dtype(), Shape(extents));
  dispatch_any(x.dtype(), [&]<class T>() {
    copy_diagonals(x.span<T>().data(), y.span<T>().data(), b, true);
  });
  return {};
}

Status run_set_diag(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& diagonal = c.input(1);
  RONDO_ASSIGN_OR_RETURN(const Batch b, batch_of(x.shape()));
  Ints wanted = leading(x.shape(), 2);
  wanted.push_back(b.diagonal());
  if (diagonal.shape() != Shape(wanted))
    return error(Code::kInvalidArgument,
                 "the diagonal has shape {}, expected {}",
                 diagonal.shape().to_string(), Shape(wanted).to_string());
  const void* before = x.data();
  const size_t bytes = x.bytes();
  Tensor& y = c.allocate_or_reuse(0, 0, x.dtype(), x.shape());
  if (y.data() != before && bytes > 0) std::memcpy(y.data(), before, bytes);
  dispatch_any(y.dtype(), [&]<class T>() {
    copy_diagonals(diagonal.span<T>().data(), y.span<T>().data(), b, false);
  });
  return {};
}

// How many diagonals beside the main one stay; negative: all.
struct BandRange {
  int64_t lower = 0;
  int64_t upper = 0;
};

template <class T>
void keep_band(const T* x, T* y, const Batch& b, const BandRange& band,
               T fill) {
  parallel_for(
      b.count * b.rows,
      std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, b.columns)),
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r % b.rows;
          const int64_t first =
              band.lower < 0
                  ? 0
                  : std::clamp<int64_t>(i - band.lower, 0, b.columns);
          const int64_t last =
              band.upper < 0
                  ? b.columns
                  : std::clamp<int64_t>(i + band.upper + 1, first, b.columns);
          const T* from = x + r * b.columns;
          T* to = y + r * b.columns;
          std::fill(to, to + first, fill);
          if (from != to) std::copy(from + first, from + last, to + first);
          std::fill(to + last, to + b.columns, fill);
        }
      });
}

Status run_band_part(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Batch b, batch_of(x.shape()));
  const BandRange band{node.attrs().get<int64_t>("num_lower"),
                       node.attrs().get<int64_t>("num_upper")};
  const double fill = node.attrs().get<double>("fill");
  const void* before = x.data();
  Tensor& y = c.allocate_or_reuse(0, 0, x.dtype(), x.shape());
  dispatch_number(y.dtype(), [&]<class T>() {
    keep_band(static_cast<const T*>(before), y.span<T>().data(), b, band,
              store<T>(static_cast<Computed<T>>(fill)));
  });
  return {};
}

}  // namespace

void register_diag_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("MatrixDiag", run_diag);
  add("MatrixDiagPart", run_diag_part);
  add("MatrixSetDiag", run_set_diag);
  add("MatrixBandPart", run_band_part);
}

}  // namespace rondo
