#include "rondo/kernels/cpu/nn_kernels.h"
#include "rondo/kernels/cpu/row_ops.h"
#include "rondo/kernels/cpu/widen.h"

namespace rondo {
namespace {

Result<Shape> losses_of(const Shape& logits) {
  if (logits.rank() == 0)
    return error(Code::kInvalidArgument,
                 "logits are a scalar, expected classes in the last axis");
  return Shape(logits.extents().first(static_cast<size_t>(logits.rank() - 1)));
}

Status run_softmax_loss(const Node&, KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const Shape losses, losses_of(shape));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), shape, "labels"));
  const Tensor logits = widen(c, c.input(0));
  const Tensor labels = widen(c, c.input(1));
  WideOutput loss(c, 0, c.input(0).dtype(), losses);
  WideOutput grad(c, 1, c.input(0).dtype(), shape);
  const LastAxisRows rows(shape);
  dispatch_wide(logits.dtype(), [&]<class T>() {
    parallel_for(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        loss.tensor().span<T>()[static_cast<size_t>(r)] =
            row_ops<T>().cross_entropy(
                logits.span<T>().data() + r * rows.n,
                labels.span<T>().data() + r * rows.n,
                grad.tensor().span<T>().data() + r * rows.n, rows.n);
    });
  });
  loss.finish();
  grad.finish();
  return {};
}

int64_t label_at(const Tensor& labels, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return labels.dtype() == DType::kI32 ? labels.span<int32_t>()[at]
                                       : labels.span<int64_t>()[at];
}

Status run_sparse_loss(const Node&, KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const Shape losses, losses_of(shape));
  const Tensor& labels = c.input(1);
  RONDO_RETURN_IF_ERROR(want_shape(labels, losses, "labels"));
  const LastAxisRows rows(shape);
  for (int64_t r = 0; r < rows.count; ++r)
    if (const int64_t label = label_at(labels, r); label < 0 || label >= rows.n)
      return error(Code::kInvalidArgument,
                   "label {} of row {} is out of range: there are {} classes",
                   label, r, rows.n);
  const Tensor logits = widen(c, c.input(0));
  WideOutput loss(c, 0, c.input(0).dtype(), losses);
  WideOutput grad(c, 1, c.input(0).dtype(), shape);
  dispatch_wide(logits.dtype(), [&]<class T>() {
    parallel_for(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        loss.tensor().span<T>()[static_cast<size_t>(r)] =
            row_ops<T>().sparse_cross_entropy(
                logits.span<T>().data() + r * rows.n, label_at(labels, r),
                grad.tensor().span<T>().data() + r * rows.n, rows.n);
    });
  });
  loss.finish();
  grad.finish();
  return {};
}

Status run_sigmoid_loss(const Node&, KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), shape, "labels"));
  const Tensor x = widen(c, c.input(0));
  const Tensor z = widen(c, c.input(1));
  WideOutput loss(c, 0, c.input(0).dtype(), shape);
  dispatch_wide(x.dtype(), [&]<class T>() {
    parallel_for(x.count(), 1 << 12, [&](int64_t begin, int64_t end) {
      row_ops<T>().sigmoid_cross_entropy(
          x.span<T>().data() + begin, z.span<T>().data() + begin,
          loss.tensor().span<T>().data() + begin, end - begin);
    });
  });
  loss.finish();
  return {};
}

Status run_sigmoid_loss_grad(const Node&, KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), shape, "labels"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(2), shape, "grad"));
  const Tensor x = widen(c, c.input(0));
  const Tensor z = widen(c, c.input(1));
  const Tensor g = widen(c, c.input(2));
  WideOutput dx(c, 0, c.input(0).dtype(), shape);
  WideOutput dz(c, 1, c.input(0).dtype(), shape);
  dispatch_wide(x.dtype(), [&]<class T>() {
    parallel_for(x.count(), 1 << 12, [&](int64_t begin, int64_t end) {
      row_ops<T>().sigmoid_cross_entropy_grad(
          x.span<T>().data() + begin, z.span<T>().data() + begin,
          g.span<T>().data() + begin, dx.tensor().span<T>().data() + begin,
          dz.tensor().span<T>().data() + begin, end - begin);
    });
  });
  dx.finish();
  dz.finish();
  return {};
}

}  // namespace

void register_loss_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("SoftmaxCrossEntropyWithLogits", run_softmax_loss);
  add("SparseSoftmaxCrossEntropyWithLogits", run_sparse_loss);
  add("SigmoidCrossEntropyWithLogits", run_sigmoid_loss);
  add("SigmoidCrossEntropyWithLogitsGrad", run_sigmoid_loss_grad);
}

}  // namespace rondo
