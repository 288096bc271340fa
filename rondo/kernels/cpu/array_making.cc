#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

using array::AxisView;
using array::ints_of;

// How many numbers there are from start to before limit.
template <class T>
Result<int64_t> range_count(T start, T limit, T delta) {
  if (delta == T{}) return error(Code::kInvalidArgument, "delta is 0");
  if (delta > T{} ? !(start < limit) : !(start > limit)) return int64_t{0};
  if constexpr (std::is_integral_v<T>) {
    const bool up = delta > 0;
    const auto low = static_cast<uint64_t>(up ? start : limit);
    const auto high = static_cast<uint64_t>(up ? limit : start);
    const auto step = up ? static_cast<uint64_t>(delta)
                         : uint64_t{0} - static_cast<uint64_t>(delta);
    return static_cast<int64_t>((high - low - 1) / step + 1);
  } else {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                  static_cast<double>(delta));
    if (!(count < 1e15))
      return error(Code::kInvalidArgument,
                   "from {} to {} by {} are too many numbers", start, limit,
                   delta);
    return static_cast<int64_t>(count);
  }
}

template <class T>
Status make_range(KernelContext& c) {
  const auto start = load(c.input(0).span<T>()[0]);
  const auto limit = load(c.input(1).span<T>()[0]);
  const auto delta = load(c.input(2).span<T>()[0]);
  RONDO_ASSIGN_OR_RETURN(const int64_t count, range_count(start, limit, delta));
  Tensor& y = c.allocate(0, dtype_of<T>, {count});
  T* to = y.span<T>().data();
  parallel_for(count, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_integral_v<T>)
        to[i] = static_cast<T>(static_cast<uint64_t>(start) +
                               static_cast<uint64_t>(i) *
                                   static_cast<uint64_t>(delta));
      else
        to[i] = store<T>(static_cast<Computed<T>>(
            static_cast<double>(start) +
            static_cast<double>(i) * static_cast<double>(delta)));
    }
  });
  return {};
}

// Inputs whose rank was not known while building may be anything.
Status want_one(KernelContext& c, int i, std::string_view name) {
  if (c.input(i).count() == 1) return {};
  return error(Code::kInvalidArgument, "{} has shape {}, expected a scalar",
               name, c.input(i).shape().to_string());
}

Status run_range(const Node&, KernelContext& c) {
  RONDO_RETURN_IF_ERROR(want_one(c, 0, "start"));
  RONDO_RETURN_IF_ERROR(want_one(c, 1, "limit"));
  RONDO_RETURN_IF_ERROR(want_one(c, 2, "delta"));
  return dispatch_number(c.input(0).dtype(),
                         [&]<class T>() { return make_range<T>(c); });
}

Status run_one_hot(const Node& node, KernelContext& c) {
  RONDO_RETURN_IF_ERROR(want_one(c, 1, "depth"));
  RONDO_RETURN_IF_ERROR(want_one(c, 2, "on"));
  RONDO_RETURN_IF_ERROR(want_one(c, 3, "off"));
  const Tensor indices = array::as_i64(c, 0);
  const int64_t depth = ints_of(c.input(1))[0];
  if (depth < 0)
    return error(Code::kInvalidArgument, "depth is {}, expected 0 or more",
                 depth);
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         array::axis_of(node, indices.shape().rank() + 1));
  Ints extents(indices.shape().extents().begin(),
               indices.shape().extents().end());
  extents.insert(extents.begin() + axis, depth);
  Tensor& y = c.allocate(0, c.input(2).dtype(), Shape(extents));
  array::fill(y, c.input(3).data());
  const AxisView view = array::view_of(y.shape(), axis);
  const auto at = indices.span<int64_t>();
  array::dispatch_size(y.dtype(), [&]<size_t kBytes>() {
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t index = at[static_cast<size_t>(i)];
      if (index < 0 || index >= depth) continue;
      const int64_t to =
          (i / view.inner * depth + index) * view.inner + i % view.inner;
      std::memcpy(
          static_cast<char*>(y.data()) + static_cast<size_t>(to) * kBytes,
          c.input(2).data(), kBytes);
    }
  });
  return {};
}

// The same for elements that are equal: zeros of both signs, and NaNs, are.
template <class T>
uint64_t key_of(T element) {
  const auto x = load(element);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    const auto wide = static_cast<double>(x);
    if (wide == 0) return 0;
    return std::isnan(wide) ? ~uint64_t{0} : std::bit_cast<uint64_t>(wide);
  } else {
    return static_cast<uint64_t>(x);
  }
}

Status run_unique(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() != 1)
    return error(Code::kInvalidArgument, "x has shape {}, expected a vector",
                 x.shape().to_string());
  Tensor& indices = c.allocate(1, DType::kI64, x.shape());
  const auto to = indices.span<int64_t>();
  std::unordered_map<uint64_t, int64_t> seen;
  Ints first, counts;
  dispatch_any(x.dtype(), [&]<class T>() {
    const auto from = x.span<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      const auto [at, is_new] =
          seen.try_emplace(key_of(from[i]), static_cast<int64_t>(first.size()));
      if (is_new) {
        first.push_back(static_cast<int64_t>(i));
        counts.push_back(0);
      }
      to[i] = at->second;
      ++counts[static_cast<size_t>(at->second)];
    }
  });
  const auto n = static_cast<int64_t>(first.size());
  Tensor& values = c.allocate(0, x.dtype(), {n});
  array::gather_rows(x.data(), values.data(), {1, x.count(), 1}, first,
                     size_of(x.dtype()));
  std::ranges::copy(counts,
                    c.allocate(2, DType::kI64, {n}).span<int64_t>().begin());
  return {};
}

template <class T>
Status invert(const Tensor& x, Tensor& y) {
  const auto from = x.span<T>();
  const auto to = y.span<T>();
  std::vector<bool> seen(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const T at = from[i];
    if (at < 0 || static_cast<size_t>(at) >= from.size())
      return error(Code::kInvalidArgument,
                   "x[{}] is {}, out of range for a permutation of {}", i, at,
                   from.size());
    if (seen[static_cast<size_t>(at)])
      return error(Code::kInvalidArgument,
                   "x[{}] is {}, which is there before: not a permutation", i,
                   at);
    seen[static_cast<size_t>(at)] = true;
    to[static_cast<size_t>(at)] = static_cast<T>(i);
  }
  return {};
}

Status run_invert_permutation(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, x.dtype(), x.shape());
  return x.dtype() == DType::kI32 ? invert<int32_t>(x, y)
                                  : invert<int64_t>(x, y);
}

Status run_sequence_mask(const Node& node, KernelContext& c) {
  const Tensor lengths = array::as_i64(c, 0);
  const auto ends = lengths.span<int64_t>();
  int64_t maxlen = node.attrs().get<int64_t>("maxlen");
  if (maxlen < 0) {
    maxlen = 0;
    for (const int64_t end : ends) maxlen = std::max(maxlen, end);
  }
  Ints extents(lengths.shape().extents().begin(),
               lengths.shape().extents().end());
  extents.push_back(maxlen);
  Tensor& y = c.allocate(0, node.attrs().get<DType>("dtype"), Shape(extents));
  dispatch_any(y.dtype(), [&]<class T>() {
    T* to = y.span<T>().data();
    const T on = store<T>(static_cast<Computed<T>>(1));
    const T off = store<T>(static_cast<Computed<T>>(0));
    for (const int64_t end : ends) {
      const int64_t cut = std::clamp<int64_t>(end, 0, maxlen);
      std::fill(to, to + cut, on);
      std::fill(to + cut, to + maxlen, off);
      to += maxlen;
    }
  });
  return {};
}

}  // namespace

void register_making_kernels(KernelRegistry& kernels) {
  kernels.add("Range", "cpu", from_function(run_range));
  kernels.add("OneHot", "cpu", from_function(run_one_hot));
  kernels.add("Unique", "cpu", from_function(run_unique));
  kernels.add("InvertPermutation", "cpu",
              from_function(run_invert_permutation));
  kernels.add("SequenceMask", "cpu", from_function(run_sequence_mask));
}

}  // namespace rondo
