#include "rondo/kernels/cpu/elementwise.h"

#include <algorithm>

#include "rondo/base/short_vector.h"
#include "rondo/kernels/cpu/broadcast.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/layout.h"
#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

const char* at(const void* data, int64_t element, size_t size) {
  return static_cast<const char*>(data) + element * static_cast<int64_t>(size);
}
char* at(void* data, int64_t element, size_t size) {
  return static_cast<char*>(data) + element * static_cast<int64_t>(size);
}

// body(begin, end) over all elements, on several threads when there are many.
template <class Body>
void for_elements(int64_t count, const Body& body) {
  if (count <= kElementGrain)
    body(int64_t{0}, count);
  else
    parallel_for(count, kElementGrain, std::cref(body));
}

// What integers cannot do.
Status check_integers(BinaryOp op, const Tensor& b) {
  const bool divides =
      op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kMod;
  if (!divides && op != BinaryOp::kPow) return {};
  if (!contains(TypeSet::kInteger, b.dtype())) return {};
  return dispatch_number(b.dtype(), [&]<class T>() -> Status {
    if constexpr (std::is_integral_v<T>) {
      const auto all = b.span<T>();
      const auto bad = std::ranges::find_if(
          all, [&](T x) { return divides ? x == 0 : x < T{0}; });
      if (bad == all.end()) return {};
      if (divides)
        return error(Code::kInvalidArgument,
                     "division of integers by zero: element {} of y is 0",
                     bad - all.begin());
      return error(Code::kInvalidArgument,
                   "an integer to a negative power: element {} of y is {}",
                   bad - all.begin(), static_cast<int64_t>(*bad));
    }
    return {};
  });
}

void run_same_shape(BinaryOp op, const Tensor& a, const Tensor& b, Tensor& out,
                    double alpha) {
  const size_t size = size_of(a.dtype());
  for_elements(out.count(), [&](int64_t begin, int64_t end) {
    binary_loop(op, a.dtype(),
                {at(a.data(), begin, size), at(b.data(), begin, size),
                 at(out.data(), begin, size), 1, 1, end - begin, alpha});
  });
}

double alpha_of(const Node& node) {
  const AttrValue* alpha = node.attrs().find("alpha");
  return alpha ? std::get<double>(*alpha) : 0;
}

bool approximate(const Node& node) {
  const AttrValue* value = node.attrs().find("approximate");
  return value && std::get<bool>(*value);
}

class Unary final : public Kernel {
 public:
  Unary(UnaryOp op, double alpha) : op_(op), alpha_(alpha) {}
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const Layout layout = x.layout();
    Tensor& y = output_in_place(c, x.dtype(), x.shape(), {0});
    run_unary(op_, x, y, alpha_);
    y.set_layout(layout);
    return {};
  }
  bool takes_layouts() const override { return true; }

 private:
  const UnaryOp op_;
  const double alpha_;
};

class Binary final : public Kernel {
 public:
  explicit Binary(BinaryOp op) : op_(op) {}
  Status run(KernelContext& c) override {
    const Layout layout = align_layouts(c);
    const Tensor& a = c.input(0);
    const Tensor& b = c.input(1);
    Shape shape = a.shape();
    if (shape != b.shape()) {
      const Tensor* const both[] = {&a, &b};
      RONDO_ASSIGN_OR_RETURN(shape, broadcast_shape(both));
    }
    Tensor& out = output_in_place(c, a.dtype(), shape, {0, 1});
    out.set_layout(layout);
    return run_binary(op_, a, b, out);
  }
  bool takes_layouts() const override { return true; }

 private:
  const BinaryOp op_;
};

// A gradient of dy and of something of the same shape.
class Grad final : public Kernel {
 public:
  Grad(BinaryOp op, double alpha) : op_(op), alpha_(alpha) {}
  Status run(KernelContext& c) override {
    const Layout layout = align_layouts(c);
    const Tensor& dy = c.input(0);
    const Tensor& x = c.input(1);
    if (dy.shape() != x.shape())
      return error(Code::kInvalidArgument,
                   "its inputs have shapes {} and {}, expected the same",
                   dy.shape().to_string(), x.shape().to_string());
    Tensor& dx = output_in_place(c, dy.dtype(), dy.shape(), {0, 1});
    run_same_shape(op_, dy, x, dx, alpha_);
    dx.set_layout(layout);
    return {};
  }
  bool takes_layouts() const override { return true; }

 private:
  const BinaryOp op_;
  const double alpha_;
};

// Added in the order of the list, wherever the result lies, so that the bits
// are the same in every run.
Status run_add_n(const Node&, KernelContext& c) {
  constexpr int kAtOnce = 16;
  const Layout layout = align_layouts(c);
  const Tensor& first = c.input(0);
  int reuse = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.input(i).shape() != first.shape())
      return error(Code::kInvalidArgument,
                   "its inputs have shapes {} and {}, expected the same",
                   first.shape().to_string(), c.input(i).shape().to_string());
    // What comes later must not be written over by what was added before.
    if (i < kAtOnce && c.input(i).unique()) reuse = i;
  }
  Tensor& out = output_in_place(c, first.dtype(), first.shape(), {reuse});
  out.set_layout(layout);
  const size_t size = size_of(first.dtype());
  for_elements(out.count(), [&](int64_t begin, int64_t end) {
    const void* from[kAtOnce];
    void* const to[] = {at(out.data(), begin, size)};
    size_t n = 0;
    for (int i = 0; i < c.inputs(); ++i) {
      from[n++] = at(c.input(i).data(), begin, size);
      if (n < kAtOnce && i + 1 < c.inputs()) continue;
      reduce_many(ReduceOp::kSum, out.dtype(), to,
                  std::span<const void* const>(from, n),
                  static_cast<size_t>(end - begin), 1, false);
      from[0] = to[0];
      n = 1;
    }
  });
  return {};
}

// dy broadcast to a shape: times one.
Status run_sum_to_grad(const Node&, KernelContext& c) {
  const Tensor& dy = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, shape_from(c.input(1)));
  if (shape == dy.shape()) {
    c.set_output(0, dy);
    return {};
  }
  Tensor one = c.scratch(dy.dtype(), {});
  dispatch_number(dy.dtype(), [&]<class T>() {
    one.span<T>()[0] = store<T>(static_cast<Computed<T>>(1));
  });
  return run_binary(BinaryOp::kMul, dy, one, c.allocate(0, dy.dtype(), shape));
}

struct UnaryEntry {
  std::string_view name;
  UnaryOp op;
};
constexpr UnaryEntry kUnary[] = {
    {"Neg", UnaryOp::kNeg},           {"Abs", UnaryOp::kAbs},
    {"Sign", UnaryOp::kSign},         {"Exp", UnaryOp::kExp},
    {"Log", UnaryOp::kLog},           {"Log1p", UnaryOp::kLog1p},
    {"Sqrt", UnaryOp::kSqrt},         {"Rsqrt", UnaryOp::kRsqrt},
    {"Square", UnaryOp::kSquare},     {"Sin", UnaryOp::kSin},
    {"Cos", UnaryOp::kCos},           {"Floor", UnaryOp::kFloor},
    {"Ceil", UnaryOp::kCeil},         {"Round", UnaryOp::kRound},
    {"Tanh", UnaryOp::kTanh},         {"Sigmoid", UnaryOp::kSigmoid},
    {"Relu", UnaryOp::kRelu},         {"LeakyRelu", UnaryOp::kLeakyRelu},
    {"Elu", UnaryOp::kElu},           {"Gelu", UnaryOp::kGelu},
    {"Softplus", UnaryOp::kSoftplus},
};

struct BinaryEntry {
  std::string_view name;
  BinaryOp op;
};
constexpr BinaryEntry kBinary[] = {
    {"Add", BinaryOp::kAdd},
    {"Sub", BinaryOp::kSub},
    {"Mul", BinaryOp::kMul},
    {"Div", BinaryOp::kDiv},
    {"FloorDiv", BinaryOp::kFloorDiv},
    {"Mod", BinaryOp::kMod},
    {"Pow", BinaryOp::kPow},
    {"Maximum", BinaryOp::kMaximum},
    {"Minimum", BinaryOp::kMinimum},
    {"SquaredDifference", BinaryOp::kSquaredDifference},
};
constexpr BinaryEntry kGrads[] = {
    {"SqrtGrad", BinaryOp::kSqrtGrad},
    {"RsqrtGrad", BinaryOp::kRsqrtGrad},
    {"ReluGrad", BinaryOp::kReluGrad},
    {"LeakyReluGrad", BinaryOp::kLeakyReluGrad},
    {"EluGrad", BinaryOp::kEluGrad},
    {"GeluGrad", BinaryOp::kGeluGrad},
    {"SigmoidGrad", BinaryOp::kSigmoidGrad},
    {"TanhGrad", BinaryOp::kTanhGrad},
    {"SoftplusGrad", BinaryOp::kSoftplusGrad},
};

template <class Op, class Entry, size_t kCount>
std::optional<Op> named(const Entry (&entries)[kCount], std::string_view name) {
  const auto* const at = std::ranges::find(entries, name, &Entry::name);
  return at == std::end(entries) ? std::nullopt : std::optional<Op>(at->op);
}

}  // namespace

std::optional<UnaryOp> unary_named(std::string_view name) {
  if (name == "GeluTanh") return UnaryOp::kGeluTanh;
  return named<UnaryOp>(kUnary, name);
}

std::optional<BinaryOp> binary_named(std::string_view name) {
  if (name == "GeluTanhGrad") return BinaryOp::kGeluTanhGrad;
  if (const auto op = named<BinaryOp>(kBinary, name)) return op;
  return named<BinaryOp>(kGrads, name);
}

bool is_gradient(BinaryOp op) { return op >= BinaryOp::kSqrtGrad; }

void run_unary(UnaryOp op, const Tensor& x, Tensor& y, double alpha) {
  const size_t size = size_of(x.dtype());
  for_elements(x.count(), [&](int64_t begin, int64_t end) {
    unary_loop(op, x.dtype(), at(x.data(), begin, size),
               at(y.data(), begin, size), end - begin, alpha);
  });
}

Status run_binary(BinaryOp op, const Tensor& a, const Tensor& b, Tensor& out) {
  RONDO_RETURN_IF_ERROR(check_integers(op, b));
  if (out.count() == 0) return {};
  if (a.shape() == b.shape() && a.shape() == out.shape()) {
    run_same_shape(op, a, b, out, 0);
    return {};
  }
  const Shape* const shapes[] = {&a.shape(), &b.shape()};
  RONDO_ASSIGN_OR_RETURN(const Broadcast plan,
                         plan_broadcast(out.shape(), shapes));
  const size_t size = size_of(a.dtype());
  const auto& step = plan.inner_step();
  for_each_row(plan, [&](const Broadcast::Steps& from, int64_t to, int64_t n) {
    binary_loop(op, a.dtype(),
                {at(a.data(), from[0], size), at(b.data(), from[1], size),
                 at(out.data(), to, size), step[0], step[1], n});
  });
  return {};
}

Tensor& output_in_place(KernelContext& c, DType dtype, const Shape& shape,
                        std::initializer_list<int> inputs) {
  const auto bytes = static_cast<size_t>(shape.count()) * size_of(dtype);
  for (const int i : inputs)
    if (c.input(i).bytes() == bytes && c.input(i).unique())
      return c.allocate_or_reuse(0, i, dtype, shape);
  return c.allocate(0, dtype, shape);
}

Result<Shape> shape_from(const Tensor& extents) {
  FewInts found;
  for (int64_t i = 0; i < extents.count(); ++i) {
    const auto k = static_cast<size_t>(i);
    found.push_back(extents.dtype() == DType::kI32
                        ? extents.span<int32_t>()[k]
                        : extents.span<int64_t>()[k]);
    if (found.back() < 0)
      return error(Code::kInvalidArgument, "an extent of the shape is {}",
                   found.back());
  }
  return Shape(found);
}

void register_elementwise_kernels(KernelRegistry& kernels) {
  for (const UnaryEntry& entry : kUnary)
    kernels.add(entry.name, "cpu",
                [op = entry.op](const Node& node, Resources&) {
                  const bool tanh = op == UnaryOp::kGelu && approximate(node);
                  return std::make_unique<Unary>(tanh ? UnaryOp::kGeluTanh : op,
                                                 alpha_of(node));
                });
  for (const BinaryEntry& entry : kBinary)
    kernels.add(entry.name, "cpu", [op = entry.op](const Node&, Resources&) {
      return std::make_unique<Binary>(op);
    });
  for (const BinaryEntry& entry : kGrads)
    kernels.add(
        entry.name, "cpu", [op = entry.op](const Node& node, Resources&) {
          const bool tanh = op == BinaryOp::kGeluGrad && approximate(node);
          return std::make_unique<Grad>(tanh ? BinaryOp::kGeluTanhGrad : op,
                                        alpha_of(node));
        });
  kernels.add("AddN", "cpu", from_function(run_add_n, true));
  kernels.add("SumToGrad", "cpu", from_function(run_sum_to_grad));
  register_logic_kernels(kernels);
}

}  // namespace rondo
