#include <cstring>
#include <list>
#include <memory>
#include <mutex>

#include "rondo/kernels/cpu/conv_direct.h"
#include "rondo/kernels/cpu/conv_primitive.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/elementwise.h"
#include "rondo/kernels/cpu/image_shape.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/pool.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/winograd_conv.h"
#include "rondo/kernels/layout.h"

namespace rondo {
namespace {

// What is kept for one pair of shapes.
struct Prepared {
  Shape x;
  Shape filter;
  ConvPlan::Blocked blocked;
  // oneDNN divides the work when a primitive is made.
  int threads = 0;
  ConvShape shape;
  std::unique_ptr<ConvPlan> plan;  // none for f64 and for empty tensors
  DType plan_type = DType::kF32;   // what the plan computes in
};
using PreparedPtr = std::shared_ptr<const Prepared>;

// f16, which oneDNN has no convolutions for, and bf16 where the machine has
// none, are computed in f32.
void make_plan(ConvDirection direction, DType dtype, bool winograd,
               const Epilogue& epilogue, Prepared& prepared) {
  const auto primitive = [&](dnnl::memory::data_type type) {
    return std::make_unique<PrimitivePlan>(
        direction, prepared.shape, type, winograd, epilogue, prepared.blocked);
  };
  if (dtype == DType::kBF16) {
    try {
      prepared.plan = primitive(dnnl::memory::data_type::bf16);
      prepared.plan_type = DType::kBF16;
      return;
    } catch (const dnnl::error& e) {
      if (e.status != dnnl_unimplemented) throw;
    }
  }
  if (winograd && WinogradConv::suits(direction, prepared.shape, epilogue,
                                      prepared.blocked))
    prepared.plan = std::make_unique<WinogradConv>(direction, prepared.shape,
                                                   epilogue, prepared.blocked);
  else
    prepared.plan = primitive(dnnl::memory::data_type::f32);
}

template <class From, class To>
void convert(const Tensor& from, Tensor& to) {
  const From* in = from.span<From>().data();
  To* out = to.span<To>().data();
  parallel_for(from.count(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = store<To>(load(in[i]));
  });
}

// Between f32 and a 16-bit type.
void convert(const Tensor& from, Tensor& to) {
  if (from.dtype() == DType::kF16) return convert<Half, float>(from, to);
  if (from.dtype() == DType::kBF16) return convert<BFloat16, float>(from, to);
  if (to.dtype() == DType::kF16) return convert<float, Half>(from, to);
  convert<float, BFloat16>(from, to);
}

class Conv final : public Kernel {
 public:
  Conv(const Node& node, ConvDirection direction, bool depthwise)
      : node_(node),
        direction_(direction),
        depthwise_(depthwise),
        winograd_(!depthwise && node.attrs().get<bool>("winograd")),
        epilogue_(node.op().name == "FusedConv2D" ? Epilogue::of(node)
                                                  : Epilogue()) {}

  bool takes_layouts() const override { return true; }
  Status run(KernelContext& c) override {
    const bool forward = direction_ == ConvDirection::kForward;
    const bool to_input = direction_ == ConvDirection::kBackwardInput;
    const bool to_filter = direction_ == ConvDirection::kBackwardFilter;
    const Layout layout =
        blocked_layout(node_.attrs().get<std::string>("data_format") == "NHWC");
    ConvPlan::Blocked blocked;
    if (!to_input) blocked.x = accept_layout(c, 0, layout) != Layout::kRowMajor;
    if (!to_filter) accept_layout(c, 1, Layout::kRowMajor);
    if (!forward) blocked.y = accept_layout(c, 2, layout) != Layout::kRowMajor;
    Shape x, filter;
    if (to_input) {
      RONDO_ASSIGN_OR_RETURN(
          x, image_shape_in(
                 c.input(0), "input_shape",
                 c.input(2).shape().rank() > 0 ? c.input(2).shape()[0] : -1));
    } else {
      x = c.input(0).shape();
    }
    if (to_filter) {
      RONDO_ASSIGN_OR_RETURN(filter,
                             image_shape_in(c.input(1), "filter_shape", -1));
    } else {
      filter = c.input(1).shape();
    }
    const DType dtype = c.input(1 - (to_filter ? 1 : 0)).dtype();
    blocked.result = dtype == DType::kF32;
    RONDO_ASSIGN_OR_RETURN(const PreparedPtr prepared,
                           prepare(x, filter, dtype, blocked));
    if (epilogue_.bias && c.input(2).count() != prepared->shape.out_channels)
      return error(Code::kInvalidArgument,
                   "the result has {} channels, the bias {} elements",
                   prepared->shape.out_channels, c.input(2).count());
    if (!forward && c.input(2).shape() != prepared->shape.y())
      return error(Code::kInvalidArgument,
                   "grad has shape {}, but the convolution of {} with {} has "
                   "{}",
                   c.input(2).shape().to_string(), x.to_string(),
                   filter.to_string(), prepared->shape.y().to_string());
    Tensor& out = c.allocate(0, dtype,
                             forward    ? prepared->shape.y()
                             : to_input ? x
                                        : filter);
    if (out.count() == 0) return {};
    if (prepared->plan && prepared->plan->gives_blocked())
      out.set_layout(layout);
    const Tensor tensors[] = {to_input ? out : c.input(0),
                              to_filter ? out : c.input(1),
                              forward ? out : c.input(2)};
    return compute(c, *prepared, tensors);
  }

 private:
  // `tensors` are x, filter and y.
  Status compute(KernelContext& c, const Prepared& prepared,
                 const Tensor (&tensors)[3]) {
    const size_t out = direction_ == ConvDirection::kForward         ? 2
                       : direction_ == ConvDirection::kBackwardInput ? 0
                                                                     : 1;
    const DType dtype = tensors[out].dtype();
    Tensor used[3] = {tensors[0], tensors[1], tensors[2]};
    for (const Tensor& t : tensors)
      if (t.count() == 0) {
        std::memset(used[out].data(), 0, used[out].bytes());
        if (epilogue_.bias) finish_zeros(c, prepared.shape, used[out]);
        return {};
      }
    if (dtype == DType::kF64) {
      conv_direct(direction_, prepared.shape, used[0].span<double>().data(),
                  used[1].span<double>().data(), used[2].span<double>().data());
      return {};
    }
    const bool converts = prepared.plan_type != dtype;
    for (size_t i = 0; converts && i < 3; ++i) {
      used[i] = c.scratch(prepared.plan_type, tensors[i].shape());
      if (i != out) convert(tensors[i], used[i]);
    }
    Tensor workspace =
        c.scratch(DType::kU8, {prepared.plan->workspace_bytes()});
    try {
      prepared.plan->execute(
          used[0].data(), used[1].data(), used[2].data(), workspace.data(),
          epilogue_.bias ? const_cast<void*>(c.input(2).data()) : nullptr);
    } catch (const dnnl::error& e) {
      return error(Code::kInternal, "oneDNN: {}", e.what());
    }
    if (converts) {
      Tensor result = tensors[out];
      convert(used[out], result);
    }
    return {};
  }

  // The epilogue by itself, where there was nothing to add up.
  void finish_zeros(KernelContext& c, const ConvShape& shape, Tensor& y) const {
    const auto bias = c.input(2).span<float>();
    const auto to = y.span<float>();
    const auto inner = static_cast<size_t>(
        shape.channels_last ? 1 : shape.height.out * shape.width.out);
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = bias[i / inner % bias.size()];
    if (!epilogue_.activation) return;
    const auto& name = node_.attrs().get<std::string>("activation");
    run_unary(unary_named(name).value(), y, y,
              static_cast<double>(epilogue_.alpha));
  }

  Result<PreparedPtr> prepare(const Shape& x, const Shape& filter, DType dtype,
                              ConvPlan::Blocked blocked) {
    const int threads = intra_op_threads();
    const std::lock_guard lock(mutex_);
    for (const PreparedPtr& p : prepared_)
      if (p->threads == threads && p->x == x && p->filter == filter &&
          p->blocked == blocked)
        return p;
    auto made = std::make_shared<Prepared>();
    made->x = x;
    made->filter = filter;
    made->blocked = blocked;
    made->threads = threads;
    RONDO_ASSIGN_OR_RETURN(made->shape,
                           conv_shape(x, filter, node_.attrs(), depthwise_));
    const bool empty =
        x.count() == 0 || filter.count() == 0 || made->shape.y().count() == 0;
    try {
      if (!empty && dtype != DType::kF64)
        make_plan(direction_, dtype, winograd_, epilogue_, *made);
    } catch (const dnnl::error& e) {
      return error(Code::kInternal, "oneDNN: {}", e.what());
    }
    prepared_.push_front(made);
    if (prepared_.size() > kKept) prepared_.pop_back();
    return PreparedPtr(made);
  }

  // A program has few shapes: a full batch and a last one, for training and for
  // evaluation.
  static constexpr size_t kKept = 16;

  const Node& node_;
  const ConvDirection direction_;
  const bool depthwise_;
  const bool winograd_;
  const Epilogue epilogue_;
  std::mutex mutex_;
  std::list<PreparedPtr> prepared_;  // guarded by mutex_
};

KernelRegistry::Make conv(ConvDirection direction, bool depthwise) {
  return [=](const Node& node, Resources&) -> std::unique_ptr<Kernel> {
    return std::make_unique<Conv>(node, direction, depthwise);
  };
}

}  // namespace

void register_conv_kernels(KernelRegistry& kernels) {
  for (const bool depthwise : {false, true}) {
    const std::string name = depthwise ? "DepthwiseConv2D" : "Conv2D";
    kernels.add(name, "cpu", conv(ConvDirection::kForward, depthwise));
    kernels.add(name + "BackpropInput", "cpu",
                conv(ConvDirection::kBackwardInput, depthwise));
    kernels.add(name + "BackpropFilter", "cpu",
                conv(ConvDirection::kBackwardFilter, depthwise));
  }
  kernels.add("FusedConv2D", "cpu", conv(ConvDirection::kForward, false));
  register_pool_kernels(kernels);
}

}  // namespace rondo
