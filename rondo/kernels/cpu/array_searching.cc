#include <algorithm>
#include <cmath>
#include <numeric>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/row_sum.h"

namespace rondo {
namespace {

using array::axis_of;
using array::AxisView;
using array::view_of;

// Elements of work that are worth a thread.
constexpr int64_t kGrain = 1 << 14;

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

// Whether a is further towards the extreme than b; NaN is the furthest.
template <bool kMax, class T>
bool beats(T a, T b) {
  return !(kMax ? a <= b : a >= b) && !is_nan(b);
}

// Calls body(o, first, last) for ranges of inner places that together are all
// of them, so that each thread reads memory in order.
template <class Body>
void for_columns(const AxisView& view, const Body& body) {
  parallel_for(view.outer * view.inner,
               std::max<int64_t>(1, kGrain / std::max<int64_t>(1, view.extent)),
               [&](int64_t begin, int64_t end) {
                 while (begin < end) {
                   const int64_t o = begin / view.inner;
                   const int64_t first = begin % view.inner;
                   const int64_t last =
                       std::min(view.inner, first + end - begin);
                   body(o, first, last);
                   begin += last - first;
                 }
               });
}

template <bool kMax, class T>
int64_t find_extreme(const T* row, int64_t extent) {
  int64_t found = 0;
  auto best = load(row[0]);
  for (int64_t k = 1; k < extent; ++k) {
    const auto element = load(row[k]);
    if (!beats<kMax>(element, best)) continue;
    best = element;
    found = k;
  }
  return found;
}

template <bool kMax, class T>
void find_extremes(const T* x, int64_t* y, const AxisView& view) {
  if (view.inner == 1) {
    parallel_for(view.outer, std::max<int64_t>(1, kGrain / view.extent),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o)
                     y[o] =
                         find_extreme<kMax>(x + o * view.extent, view.extent);
                 });
    return;
  }
  for_columns(view, [&](int64_t o, int64_t first, int64_t last) {
    const T* row = x + o * view.extent * view.inner + first;
    int64_t* found = y + o * view.inner + first;
    const int64_t n = last - first;
    std::vector<Computed<T>> best(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) best[static_cast<size_t>(i)] = load(row[i]);
    std::fill(found, found + n, 0);
    for (int64_t k = 1; k < view.extent; ++k) {
      row += view.inner;
      for (int64_t i = 0; i < n; ++i) {
        auto& here = best[static_cast<size_t>(i)];
        const auto element = load(row[i]);
        const bool better = beats<kMax>(element, here);
        here = better ? element : here;
        found[i] = better ? k : found[i];
      }
    }
  });
}

template <bool kMax>
Status run_arg(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.shape().rank()));
  if (x.shape()[axis] == 0)
    return error(Code::kInvalidArgument,
                 "axis {} of {} has extent 0, so no element of it is the "
                 "extreme one",
                 axis, x.shape().to_string());
  Ints extents(x.shape().extents().begin(), x.shape().extents().end());
  extents.erase(extents.begin() + axis);
  Tensor& y = c.allocate(0, DType::kI64, Shape(extents));
  dispatch_number(x.dtype(), [&]<class T>() {
    find_extremes<kMax>(x.span<T>().data(), y.span<int64_t>().data(),
                        view_of(x.shape(), axis));
  });
  return {};
}

template <class T>
void find_top(const T* row, int64_t extent, int64_t k, bool sorted, Ints& order,
              T* values, int64_t* indices) {
  order.resize(static_cast<size_t>(extent));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t i, int64_t j) {
    const auto a = load(row[i]);
    const auto b = load(row[j]);
    if (beats<true>(a, b)) return true;
    return !beats<true>(b, a) && i < j;
  };
  const auto middle = order.begin() + k;
  if (sorted) {
    std::partial_sort(order.begin(), middle, order.end(), before);
  } else {
    if (k < extent)
      std::nth_element(order.begin(), middle, order.end(), before);
    std::sort(order.begin(), middle);
  }
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = order[static_cast<size_t>(i)];
    values[i] = row[indices[i]];
  }
}

Status run_top_k(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const int64_t k = node.attrs().get<int64_t>("k");
  const bool sorted = node.attrs().get<bool>("sorted");
  const int rank = x.shape().rank();
  if (rank == 0) return error(Code::kInvalidArgument, "x is a scalar");
  const int64_t extent = x.shape()[rank - 1];
  if (k > extent)
    return error(Code::kInvalidArgument,
                 "k is {}, but the last axis of {} has extent {}", k,
                 x.shape().to_string(), extent);
  const Shape shape = array::with_extent(x.shape(), rank - 1, k);
  Tensor& values = c.allocate(0, x.dtype(), shape);
  Tensor& indices = c.allocate(1, DType::kI64, shape);
  if (k == 0) return {};
  dispatch_number(x.dtype(), [&]<class T>() {
    parallel_for(x.count() / extent, std::max<int64_t>(1, kGrain / extent),
                 [&](int64_t begin, int64_t end) {
                   Ints order;
                   for (int64_t i = begin; i < end; ++i)
                     find_top<T>(x.span<T>().data() + i * extent, extent, k,
                                 sorted, order, values.span<T>().data() + i * k,
                                 indices.span<int64_t>().data() + i * k);
                 });
  });
  return {};
}

template <class T>
void add_up(const T* x, T* y, const AxisView& view, bool exclusive,
            bool reverse) {
  using Sum = Computed<T>;
  for_columns(view, [&](int64_t o, int64_t first, int64_t last) {
    std::vector<Sum> sums(static_cast<size_t>(last - first));
    for (int64_t step = 0; step < view.extent; ++step) {
      const int64_t k = reverse ? view.extent - 1 - step : step;
      const int64_t at = (o * view.extent + k) * view.inner + first;
      for (size_t i = 0; i < sums.size(); ++i) {
        const Sum element = load(x[at + static_cast<int64_t>(i)]);
        const Sum with = array::plus(sums[i], element);
        y[at + static_cast<int64_t>(i)] = store<T>(exclusive ? sums[i] : with);
        sums[i] = with;
      }
    }
  });
}

Status run_cumsum(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.shape().rank()));
  Tensor& y = c.allocate_or_reuse(0, 0, x.dtype(), x.shape());
  dispatch_number(x.dtype(), [&]<class T>() {
    add_up<T>(x.span<T>().data(), y.span<T>().data(), view_of(x.shape(), axis),
              node.attrs().get<bool>("exclusive"),
              node.attrs().get<bool>("reverse"));
  });
  return {};
}

Status run_where(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  dispatch_any(x.dtype(), [&]<class T>() {
    const auto elements = x.span<T>();
    const auto on = [](T e) { return load(e) != Computed<T>{}; };
    const int64_t n = std::count_if(elements.begin(), elements.end(), on);
    int64_t* to =
        c.allocate(0, DType::kI64, {n, rank}).template span<int64_t>().data();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!on(elements[i])) continue;
      auto k = static_cast<int64_t>(i);
      for (int axis = rank; axis-- > 0;) {
        to[axis] = k % shape[axis];
        k /= shape[axis];
      }
      to += rank;
    }
  });
  return {};
}

}  // namespace

void register_searching_kernels(KernelRegistry& kernels) {
  kernels.add("ArgMax", "cpu", from_function(run_arg<true>));
  kernels.add("ArgMin", "cpu", from_function(run_arg<false>));
  kernels.add("TopK", "cpu", from_function(run_top_k));
  kernels.add("CumSum", "cpu", from_function(run_cumsum));
  kernels.add("Where", "cpu", from_function(run_where));
}

}  // namespace rondo
