#include <algorithm>
#include <atomic>

#include "rondo/kernels/cpu/lu.h"
#include "rondo/kernels/cpu/matrix_kernels.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/widen.h"

namespace rondo {
namespace {

struct Squares {
  int64_t count = 1;
  int64_t n = 0;
  int64_t size() const { return n * n; }
};

Result<Squares> squares_of(const Tensor& x) {
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2])
    return error(Code::kInvalidArgument,
                 "a tensor of shape {} does not consist of square matrices",
                 shape.to_string());
  Squares s{1, shape[rank - 1]};
  for (int i = 0; i < rank - 2; ++i) s.count *= shape[i];
  return s;
}

// Calls one(i) for every matrix i; an error that names the first for which it
// gives false.
template <class F>
Status for_each(const Squares& s, std::string_view what, const F& one) {
  std::atomic<int64_t> first{s.count};
  const int64_t grain =
      std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, s.size() * s.n));
  parallel_for(s.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (one(i)) continue;
      int64_t known = first;
      while (i < known && !first.compare_exchange_weak(known, i)) continue;
      return;
    }
  });
  if (first == s.count) return {};
  if (s.count == 1)
    return error(Code::kInvalidArgument, "the matrix is {}", what);
  return error(Code::kInvalidArgument, "matrix {} of the batch of {} is {}",
               first.load(), s.count, what);
}

constexpr std::string_view kSingular = "singular";

template <class T>
std::vector<T> identity_matrix(int64_t n) {
  std::vector<T> one(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) one[static_cast<size_t>(i * n + i)] = 1;
  return one;
}

// Calls one(i, lu) with the factors of every matrix i of x, none of which may
// be singular.
template <class T, class F>
Status for_each_factored(const Squares& s, const Tensor& x, const F& one) {
  const T* from = x.span<T>().data();
  return for_each(s, kSingular, [&](int64_t i) {
    std::vector<T> copy(from + i * s.size(), from + (i + 1) * s.size());
    Lu<T> lu;
    if (!lu.factor(copy.data(), s.n)) return false;
    one(i, lu);
    return true;
  });
}

Status run_inverse(const Node& node, KernelContext& c) {
  const bool adjoint = node.attrs().get<bool>("adjoint");
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  const Tensor x = widen(c, c.input(0));
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(x.dtype(), [&]<class T>() {
    T* to = y.tensor().span<T>().data();
    const std::vector<T> one = identity_matrix<T>(s.n);
    return for_each_factored<T>(s, x, [&](int64_t i, const Lu<T>& lu) {
      lu.solve(one.data(), to + i * s.size(), s.n, adjoint);
    });
  }));
  y.finish();
  return {};
}

Status run_determinant(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  const Tensor x = widen(c, c.input(0));
  const auto extents = x.shape().extents();
  WideOutput y(c, 0, c.input(0).dtype(),
               Shape(extents.first(extents.size() - 2)));
  RONDO_RETURN_IF_ERROR(dispatch_wide(x.dtype(), [&]<class T>() {
    const T* from = x.span<T>().data();
    T* to = y.tensor().span<T>().data();
    return for_each(s, kSingular, [&](int64_t i) {
      std::vector<T> copy(from + i * s.size(), from + (i + 1) * s.size());
      Lu<T> lu;
      to[i] = lu.factor(copy.data(), s.n) ? lu.determinant() : T{0};
      return true;
    });
  }));
  y.finish();
  return {};
}

Status run_determinant_grad(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  const Tensor x = widen(c, c.input(0));
  const auto extents = x.shape().extents();
  const Shape batch(extents.first(extents.size() - 2));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), batch, "determinant"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(2), batch, "grad"));
  const Tensor det = widen(c, c.input(1));
  const Tensor grad = widen(c, c.input(2));
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(x.dtype(), [&]<class T>() {
    T* to = y.tensor().span<T>().data();
    const std::vector<T> one = identity_matrix<T>(s.n);
    return for_each_factored<T>(s, x, [&](int64_t i, const Lu<T>& lu) {
      T* at = to + i * s.size();
      lu.solve(one.data(), at, s.n, true);
      const auto m = static_cast<size_t>(i);
      const T scale = det.span<T>()[m] * grad.span<T>()[m];
      for (int64_t j = 0; j < s.size(); ++j) at[j] *= scale;
    });
  }));
  y.finish();
  return {};
}

// The number of right-hand sides, once the shapes fit.
Result<int64_t> columns_of(const Tensor& matrix, const Tensor& rhs) {
  const Shape& m = matrix.shape();
  const Shape& r = rhs.shape();
  const auto all_but_last = [](const Shape& s) {
    return s.extents().first(static_cast<size_t>(s.rank() - 1));
  };
  if (r.rank() != m.rank() ||
      !std::ranges::equal(all_but_last(m), all_but_last(r)))
    return error(Code::kInvalidArgument,
                 "matrices of shape {} and right-hand sides of shape {} do not "
                 "fit: expected the same extents but for the last",
                 m.to_string(), r.to_string());
  return r[r.rank() - 1];
}

Status run_solve(const Node& node, KernelContext& c) {
  const bool adjoint = node.attrs().get<bool>("adjoint");
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  RONDO_ASSIGN_OR_RETURN(const int64_t columns,
                         columns_of(c.input(0), c.input(1)));
  const Tensor a = widen(c, c.input(0));
  const Tensor rhs = widen(c, c.input(1));
  WideOutput x(c, 0, c.input(0).dtype(), rhs.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(a.dtype(), [&]<class T>() {
    const T* b = rhs.span<T>().data();
    T* to = x.tensor().span<T>().data();
    return for_each_factored<T>(s, a, [&](int64_t i, const Lu<T>& lu) {
      const int64_t at = i * s.n * columns;
      lu.solve(b + at, to + at, columns, adjoint);
    });
  }));
  x.finish();
  return {};
}

// x for a triangular matrix: forward for the lower half of it or of its
// transpose, otherwise backward. x holds the right-hand sides at first.
template <class T>
bool solve_triangle(const T* a, T* x, int64_t n, int64_t columns, bool lower,
                    bool transposed) {
  const auto at = [&](int64_t i, int64_t j) {
    return transposed ? a[j * n + i] : a[i * n + j];
  };
  const bool forward = lower != transposed;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    T* row = x + i * columns;
    for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k)
      subtract_row(row, at(i, k), x + k * columns, columns);
    if (at(i, i) == T{0}) return false;
    for (int64_t j = 0; j < columns; ++j) row[j] /= at(i, i);
  }
  return true;
}

Status run_triangular(const Node& node, KernelContext& c) {
  const bool lower = node.attrs().get<bool>("lower");
  const bool adjoint = node.attrs().get<bool>("adjoint");
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  RONDO_ASSIGN_OR_RETURN(const int64_t columns,
                         columns_of(c.input(0), c.input(1)));
  const Tensor a = widen(c, c.input(0));
  const Tensor rhs = widen(c, c.input(1));
  WideOutput x(c, 0, c.input(0).dtype(), rhs.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(a.dtype(), [&]<class T>() {
    std::ranges::copy(rhs.span<T>(), x.tensor().span<T>().begin());
    return for_each(s, kSingular, [&](int64_t i) {
      return solve_triangle(a.span<T>().data() + i * s.size(),
                            x.tensor().span<T>().data() + i * s.n * columns,
                            s.n, columns, lower, adjoint);
    });
  }));
  x.finish();
  return {};
}

template <class T>
bool factor_cholesky(const T* a, T* l, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& to = l[i * n + j];
      if (j > i) {
        to = 0;
        continue;
      }
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (i == j && !(sum > 0)) return false;
      to = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  return true;
}

Status run_cholesky(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  const Tensor x = widen(c, c.input(0));
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(x.dtype(), [&]<class T>() {
    return for_each(s, "not positive definite", [&](int64_t i) {
      return factor_cholesky(x.span<T>().data() + i * s.size(),
                             y.tensor().span<T>().data() + i * s.size(), s.n);
    });
  }));
  y.finish();
  return {};
}

// With p the lower half of l^T g, its diagonal halved: the symmetric part of
// l^-T p l^-1.
template <class T>
bool cholesky_gradient(const T* l, const T* g, T* out, int64_t n) {
  std::vector<T> p(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i; k < n; ++k)
      for (int64_t j = 0; j <= std::min(i, k); ++j)
        p[static_cast<size_t>(i * n + j)] += l[k * n + i] * g[k * n + j];
  for (int64_t i = 0; i < n; ++i) p[static_cast<size_t>(i * n + i)] /= 2;
  if (!solve_triangle(l, p.data(), n, n, true, true)) return false;
  // s l = p is l^T s^T = p^T.
  std::vector<T> s(p.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      s[static_cast<size_t>(j * n + i)] = p[static_cast<size_t>(i * n + j)];
  if (!solve_triangle(l, s.data(), n, n, true, true)) return false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      out[i * n + j] = (s[static_cast<size_t>(i * n + j)] +
                        s[static_cast<size_t>(j * n + i)]) /
                       2;
  return true;
}

Status run_cholesky_grad(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Squares s, squares_of(c.input(0)));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), c.input(0).shape(), "grad"));
  const Tensor l = widen(c, c.input(0));
  const Tensor g = widen(c, c.input(1));
  WideOutput y(c, 0, c.input(0).dtype(), l.shape());
  RONDO_RETURN_IF_ERROR(dispatch_wide(l.dtype(), [&]<class T>() {
    return for_each(s, kSingular, [&](int64_t i) {
      return cholesky_gradient(l.span<T>().data() + i * s.size(),
                               g.span<T>().data() + i * s.size(),
                               y.tensor().span<T>().data() + i * s.size(), s.n);
    });
  }));
  y.finish();
  return {};
}

}  // namespace

void register_solve_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("MatrixInverse", run_inverse);
  add("MatrixDeterminant", run_determinant);
  add("MatrixDeterminantGrad", run_determinant_grad);
  add("MatrixSolve", run_solve);
  add("MatrixTriangularSolve", run_triangular);
  add("Cholesky", run_cholesky);
  add("CholeskyGrad", run_cholesky_grad);
}

}  // namespace rondo
