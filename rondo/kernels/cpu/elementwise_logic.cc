// Comparisons, logic, and what chooses between values.
#include <cmath>
#include <cstring>

#include "rondo/kernels/cpu/broadcast.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/elementwise.h"

namespace rondo {
namespace {

using Steps = Broadcast::Steps;

enum class Compare { kLess, kLessEqual, kEqual, kNotEqual, kAnd, kOr };

template <class T, class F>
void compare_row(const T* a, const T* b, bool* out, const Steps& step,
                 int64_t n, F f) {
  if (step[0] == 1 && step[1] == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (step[0] == 1) {
    const T one = b[0];
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], one);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[0], b[i * step[1]]);
  }
}

template <class T>
void compare_row(Compare op, const T* a, const T* b, bool* out,
                 const Steps& step, int64_t n) {
  const auto row = [&](auto f) { compare_row(a, b, out, step, n, f); };
  switch (op) {
    case Compare::kLess: return row([](T x, T y) { return x < y; });
    case Compare::kLessEqual: return row([](T x, T y) { return x <= y; });
    case Compare::kEqual: return row([](T x, T y) { return x == y; });
    case Compare::kNotEqual: return row([](T x, T y) { return x != y; });
    case Compare::kAnd: return row([](T x, T y) { return x && y; });
    case Compare::kOr: return row([](T x, T y) { return x || y; });
  }
}

template <class T>
void compare_all(Compare op, const Broadcast& plan, const Tensor& a,
                 const Tensor& b, Tensor& out) {
  const T* pa = a.span<T>().data();
  const T* pb = b.span<T>().data();
  bool* to = out.span<bool>().data();
  const Steps& step = plan.inner_step();
  for_each_row(plan, [&](const Steps& from, int64_t at, int64_t n) {
    if constexpr (std::is_same_v<Computed<T>, T>) {
      compare_row<T>(op, pa + from[0], pb + from[1], to + at, step, n);
    } else {
      constexpr int64_t kBlock = 512;
      float x[kBlock];
      float y[kBlock];
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        widen(a.dtype(), pa + from[0] + i * step[0], x, step[0] ? m : 1);
        widen(a.dtype(), pb + from[1] + i * step[1], y, step[1] ? m : 1);
        compare_row<float>(op, x, y, to + at + i, step, m);
      }
    }
  });
}

// `swap`: y op x instead of x op y.
template <Compare kOp, bool kSwap = false>
Status run_compare(const Node&, KernelContext& c) {
  const Tensor& a = c.input(kSwap ? 1 : 0);
  const Tensor& b = c.input(kSwap ? 0 : 1);
  const Tensor* const both[] = {&a, &b};
  RONDO_ASSIGN_OR_RETURN(const Shape shape, broadcast_shape(both));
  const Shape* const shapes[] = {&a.shape(), &b.shape()};
  RONDO_ASSIGN_OR_RETURN(const Broadcast plan, plan_broadcast(shape, shapes));
  Tensor& out = c.allocate(0, DType::kBool, shape);
  dispatch_any(a.dtype(),
               [&]<class T>() { compare_all<T>(kOp, plan, a, b, out); });
  return {};
}

Status run_not(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = output_in_place(c, DType::kBool, x.shape(), {0});
  const auto from = x.span<bool>();
  const auto to = y.span<bool>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = !from[i];
  return {};
}

Status run_is_nan(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, DType::kBool, x.shape());
  dispatch_float(x.dtype(), [&]<class T>() {
    const auto from = x.span<T>();
    const auto to = y.span<bool>();
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::isnan(load(from[i]));
  });
  return {};
}

// By the size of an element: what is in it does not matter.
template <class T>
void select_all(const Broadcast& plan, const bool* condition, const void* x,
                const void* y, void* z) {
  const Steps& step = plan.inner_step();
  for_each_row(plan, [&](const Steps& from, int64_t at, int64_t n) {
    const bool* is = condition + from[0];
    const T* a = static_cast<const T*>(x) + from[1];
    const T* b = static_cast<const T*>(y) + from[2];
    T* out = static_cast<T*>(z) + at;
    if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = is[i] ? a[i] : b[i];
    } else if (step[0] == 1 && step[1] == 1) {
      const T other = b[0];
      for (int64_t i = 0; i < n; ++i) out[i] = is[i] ? a[i] : other;
    } else if (step[0] == 1 && step[2] == 1) {
      const T other = a[0];
      for (int64_t i = 0; i < n; ++i) out[i] = is[i] ? other : b[i];
    } else {
      for (int64_t i = 0; i < n; ++i)
        out[i] = is[i * step[0]] ? a[i * step[1]] : b[i * step[2]];
    }
  });
}

Status run_select(const Node&, KernelContext& c) {
  const Tensor& condition = c.input(0);
  const Tensor& x = c.input(1);
  const Tensor& y = c.input(2);
  const Tensor* const all[] = {&condition, &x, &y};
  RONDO_ASSIGN_OR_RETURN(const Shape shape, broadcast_shape(all));
  const Shape* const shapes[] = {&condition.shape(), &x.shape(), &y.shape()};
  RONDO_ASSIGN_OR_RETURN(const Broadcast plan, plan_broadcast(shape, shapes));
  Tensor& z = output_in_place(c, x.dtype(), shape, {1, 2});
  const bool* is = condition.span<bool>().data();
  switch (size_of(x.dtype())) {
    case 1: select_all<uint8_t>(plan, is, x.data(), y.data(), z.data()); break;
    case 2: select_all<uint16_t>(plan, is, x.data(), y.data(), z.data()); break;
    case 4: select_all<uint32_t>(plan, is, x.data(), y.data(), z.data()); break;
    default: select_all<uint64_t>(plan, is, x.data(), y.data(), z.data());
  }
  return {};
}

template <class T>
T clip(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T>
void clip_all(const Broadcast& plan, const T* x, const T* low, const T* high,
              T* y) {
  const Steps& step = plan.inner_step();
  for_each_row(plan, [&](const Steps& from, int64_t at, int64_t n) {
    const T* in = x + from[0];
    if (step[0] == 1 && step[1] == 0 && step[2] == 0) {
      const auto from_low = load(low[from[1]]);
      const auto to_high = load(high[from[2]]);
      for (int64_t i = 0; i < n; ++i)
        y[at + i] = store<T>(clip(load(in[i]), from_low, to_high));
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      y[at + i] =
          store<T>(clip(load(in[i * step[0]]), load(low[from[1] + i * step[1]]),
                        load(high[from[2] + i * step[2]])));
  });
}

Status run_clip(const Node&, KernelContext& c) {
  const Tensor* const all[] = {&c.input(0), &c.input(1), &c.input(2)};
  RONDO_ASSIGN_OR_RETURN(const Shape shape, broadcast_shape(all));
  const Shape* const shapes[] = {&all[0]->shape(), &all[1]->shape(),
                                 &all[2]->shape()};
  RONDO_ASSIGN_OR_RETURN(const Broadcast plan, plan_broadcast(shape, shapes));
  Tensor& y = output_in_place(c, all[0]->dtype(), shape, {0});
  dispatch_number(y.dtype(), [&]<class T>() {
    clip_all<T>(plan, all[0]->span<T>().data(), all[1]->span<T>().data(),
                all[2]->span<T>().data(), y.span<T>().data());
  });
  return {};
}

// Whether every exponent is less than the one of infinities and NaN.
template <class Bits>
bool all_finite(const Tensor& x, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(x.data());
  for (int64_t begin = 0; begin < x.count(); begin += kElementGrain) {
    const int64_t end = std::min(x.count(), begin + kElementGrain);
    unsigned bad = 0;
    for (int64_t i = begin; i < end; ++i)
      bad |= (bits[i] & exponent) == exponent;
    if (bad) return false;
  }
  return true;
}

bool finite(const Tensor& x) {
  switch (x.dtype()) {
    case DType::kF64: return all_finite<uint64_t>(x, 0x7ff0000000000000u);
    case DType::kF32: return all_finite<uint32_t>(x, 0x7f800000u);
    case DType::kF16: return all_finite<uint16_t>(x, 0x7c00u);
    default: return all_finite<uint16_t>(x, 0x7f80u);
  }
}

Status run_check_numerics(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  if (!finite(x)) {
    int64_t nans = 0;
    int64_t infinite = 0;
    int64_t first = -1;
    dispatch_float(x.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < x.count(); ++i) {
        const auto value = load(x.span<T>()[static_cast<size_t>(i)]);
        if (std::isfinite(value)) continue;
        if (first < 0) first = i;
        ++(std::isnan(value) ? nans : infinite);
      }
    });
    const auto& message = node.attrs().get<std::string>("message");
    return error(Code::kInvalidArgument,
                 "{}{}{} of {} elements are NaN and {} infinite, the first is "
                 "element {}",
                 message, message.empty() ? "" : ": ", nans, x.count(),
                 infinite, first);
  }
  c.set_output(0, x);
  return {};
}

}  // namespace

void register_logic_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("Less", run_compare<Compare::kLess>);
  add("LessEqual", run_compare<Compare::kLessEqual>);
  add("Greater", run_compare<Compare::kLess, true>);
  add("GreaterEqual", run_compare<Compare::kLessEqual, true>);
  add("Equal", run_compare<Compare::kEqual>);
  add("NotEqual", run_compare<Compare::kNotEqual>);
  add("LogicalAnd", run_compare<Compare::kAnd>);
  add("LogicalOr", run_compare<Compare::kOr>);
  add("LogicalNot", run_not);
  add("IsNan", run_is_nan);
  add("Select", run_select);
  add("ClipByValue", run_clip);
  add("CheckNumerics", run_check_numerics);
}

}  // namespace rondo
