#include <algorithm>
#include <cstring>

#include "rondo/base/short_vector.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

Status run_const(const Node& node, KernelContext& c) {
  c.set_output(0, node.attrs().get<Tensor>("value"));
  return {};
}

// The integers of a vector of i32 or i64.
FewInts ints_of(const Tensor& t) {
  FewInts ints;
  if (t.dtype() == DType::kI32)
    for (const int32_t x : t.span<int32_t>()) ints.push_back(x);
  else
    for (const int64_t x : t.span<int64_t>()) ints.push_back(x);
  return ints;
}

Status run_fill(const Node&, KernelContext& c) {
  if (c.input(1).count() != 1)
    return error(Code::kInvalidArgument,
                 "value has shape {}, expected a scalar",
                 c.input(1).shape().to_string());
  const FewInts extents = ints_of(c.input(0));
  for (const int64_t extent : extents)
    if (extent < 0)
      return error(Code::kInvalidArgument, "an extent of the shape is {}",
                   extent);
  Tensor& y = c.allocate(0, c.input(1).dtype(), Shape(extents));
  dispatch_any(y.dtype(), [&]<class T>() {
    const T value = c.input(1).span<T>()[0];
    std::ranges::fill(y.span<T>(), value);
  });
  return {};
}

Status run_zeros_like(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, x.dtype(), x.shape());
  std::memset(y.data(), 0, y.bytes());
  return {};
}

Status run_ones_like(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, x.dtype(), x.shape());
  dispatch_any(y.dtype(), [&]<class T>() {
    std::ranges::fill(y.span<T>(), store<T>(static_cast<Computed<T>>(1)));
  });
  return {};
}

Status run_shape(const Node&, KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  Tensor& y = c.allocate(0, DType::kI64, {shape.rank()});
  std::ranges::copy(shape.extents(), y.span<int64_t>().begin());
  return {};
}

Status run_rank(const Node&, KernelContext& c) {
  c.allocate(0, DType::kI64, {}).span<int64_t>()[0] = c.input(0).shape().rank();
  return {};
}

Status run_size(const Node&, KernelContext& c) {
  c.allocate(0, DType::kI64, {}).span<int64_t>()[0] = c.input(0).count();
  return {};
}

Status run_reshape(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  FewInts extents = ints_of(c.input(1));
  int64_t product = 1;
  int rest = -1;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == -1 && rest < 0)
      rest = static_cast<int>(i);
    else
      product *= extents[i];
  }
  if (rest >= 0 && product > 0)
    extents[static_cast<size_t>(rest)] = x.count() / product;
  const bool negative =
      std::ranges::any_of(extents, [](int64_t e) { return e < 0; });
  if (negative || Shape(extents).count() != x.count())
    return error(Code::kInvalidArgument,
                 "a tensor of shape {} cannot be reshaped to {}",
                 x.shape().to_string(), Shape(ints_of(c.input(1))).to_string());
  c.set_output(0, x.reshape(Shape(extents)));
  return {};
}

template <class From, class To>
void convert(const Tensor& x, Tensor& y) {
  const auto from = x.span<From>();
  const auto to = y.span<To>();
  parallel_for(x.count(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      if constexpr (std::is_same_v<To, bool>)
        to[i] = load(from[i]) != 0;
      else
        to[i] = store<To>(static_cast<Computed<To>>(load(from[i])));
  });
}

Status run_cast(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const DType dtype = node.attrs().get<DType>("dtype");
  if (dtype == x.dtype()) {
    c.set_output(0, x);
    return {};
  }
  Tensor& y = c.allocate(0, dtype, x.shape());
  dispatch_any(x.dtype(), [&]<class From>() {
    dispatch_any(dtype, [&]<class To>() { convert<From, To>(x, y); });
  });
  return {};
}

}  // namespace

void register_basic_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("Const", run_const);
  add("Fill", run_fill);
  add("ZerosLike", run_zeros_like);
  add("OnesLike", run_ones_like);
  add("Shape", run_shape);
  add("Rank", run_rank);
  add("Size", run_size);
  add("Reshape", run_reshape);
  add("Cast", run_cast);
}

}  // namespace rondo
