#include "rondo/kernels/cpu/cell_ops.h"
#include "rondo/kernels/cpu/nn_kernels.h"
#include "rondo/kernels/cpu/widen.h"

namespace rondo {
namespace {

// [batch, gates * units]; the state has shape [batch, units].
struct Cell {
  int64_t batch = 0;
  int64_t units = 0;
  int64_t wide = 0;  // gates * units

  Shape state() const { return {batch, units}; }
  Shape gates() const { return {batch, wide}; }
  int64_t grain() const {
    return std::max<int64_t>(1, 1024 / std::max<int64_t>(1, units));
  }
};

Result<Cell> cell_of(const Tensor& state, int64_t gates) {
  const Shape& s = state.shape();
  if (s.rank() != 2)
    return error(Code::kInvalidArgument,
                 "the state has shape {}, expected [batch, units]",
                 s.to_string());
  return Cell{s[0], s[1], gates * s[1]};
}

// Input i, in wide elements, of this shape.
Status take(KernelContext& c, int i, const Shape& shape, std::string_view name,
            Tensor& to) {
  RONDO_RETURN_IF_ERROR(want_shape(c.input(i), shape, name));
  to = widen(c, c.input(i));
  return {};
}

// f.template operator()<T>(b) for each row b of the batch.
template <class F>
void for_each_row(const Cell& cell, DType dtype, const F& f) {
  dispatch_wide(dtype, [&]<class T>() {
    parallel_for(cell.batch, cell.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) f.template operator()<T>(b);
    });
  });
}

template <class T>
const T* row(const Tensor& x, int64_t b) {
  return x.span<T>().data() + b * x.shape()[1];
}
template <class T>
T* row(WideOutput& y, int64_t b) {
  return y.tensor().span<T>().data() + b * y.tensor().shape()[1];
}

Status run_lstm(const Node& node, KernelContext& c) {
  const double forget_bias = node.attrs().get<double>("forget_bias");
  RONDO_ASSIGN_OR_RETURN(const Cell cell, cell_of(c.input(2), 4));
  Tensor x_gates, h_gates;
  RONDO_RETURN_IF_ERROR(take(c, 0, cell.gates(), "x_gates", x_gates));
  RONDO_RETURN_IF_ERROR(take(c, 1, cell.gates(), "h_gates", h_gates));
  const Tensor c_prev = widen(c, c.input(2));
  const DType dtype = c.input(0).dtype();
  WideOutput h(c, 0, dtype, cell.state());
  WideOutput state(c, 1, dtype, cell.state());
  WideOutput gates(c, 2, dtype, cell.gates());
  for_each_row(cell, dtype, [&]<class T>(int64_t b) {
    cell_ops<T>().lstm(
        {row<T>(x_gates, b), row<T>(h_gates, b), row<T>(c_prev, b),
         row<T>(h, b), row<T>(state, b), row<T>(gates, b), cell.units},
        static_cast<T>(forget_bias));
  });
  h.finish();
  state.finish();
  gates.finish();
  return {};
}

Status run_lstm_grad(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Cell cell, cell_of(c.input(1), 4));
  Tensor gates, state, h_grad, c_grad;
  RONDO_RETURN_IF_ERROR(take(c, 0, cell.gates(), "gates", gates));
  RONDO_RETURN_IF_ERROR(take(c, 2, cell.state(), "c", state));
  RONDO_RETURN_IF_ERROR(take(c, 3, cell.state(), "h_grad", h_grad));
  RONDO_RETURN_IF_ERROR(take(c, 4, cell.state(), "c_grad", c_grad));
  const Tensor c_prev = widen(c, c.input(1));
  const DType dtype = c.input(0).dtype();
  WideOutput gates_grad(c, 0, dtype, cell.gates());
  WideOutput c_prev_grad(c, 1, dtype, cell.state());
  for_each_row(cell, dtype, [&]<class T>(int64_t b) {
    cell_ops<T>().lstm_grad({row<T>(gates, b), row<T>(c_prev, b),
                             row<T>(state, b), row<T>(h_grad, b),
                             row<T>(c_grad, b), row<T>(gates_grad, b),
                             row<T>(c_prev_grad, b), cell.units});
  });
  gates_grad.finish();
  c_prev_grad.finish();
  return {};
}

Status run_gru(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Cell cell, cell_of(c.input(2), 3));
  Tensor x_gates, h_gates;
  RONDO_RETURN_IF_ERROR(take(c, 0, cell.gates(), "x_gates", x_gates));
  RONDO_RETURN_IF_ERROR(take(c, 1, cell.gates(), "h_gates", h_gates));
  const Tensor h_prev = widen(c, c.input(2));
  const DType dtype = c.input(0).dtype();
  WideOutput h(c, 0, dtype, cell.state());
  WideOutput gates(c, 1, dtype, cell.gates());
  for_each_row(cell, dtype, [&]<class T>(int64_t b) {
    cell_ops<T>().gru({row<T>(x_gates, b), row<T>(h_gates, b),
                       row<T>(h_prev, b), row<T>(h, b), row<T>(gates, b),
                       cell.units});
  });
  h.finish();
  gates.finish();
  return {};
}

Status run_gru_grad(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Cell cell, cell_of(c.input(2), 3));
  Tensor gates, h_gates, h_grad;
  RONDO_RETURN_IF_ERROR(take(c, 0, cell.gates(), "gates", gates));
  RONDO_RETURN_IF_ERROR(take(c, 1, cell.gates(), "h_gates", h_gates));
  RONDO_RETURN_IF_ERROR(take(c, 3, cell.state(), "h_grad", h_grad));
  const Tensor h_prev = widen(c, c.input(2));
  const DType dtype = c.input(0).dtype();
  WideOutput x_gates_grad(c, 0, dtype, cell.gates());
  WideOutput h_gates_grad(c, 1, dtype, cell.gates());
  WideOutput h_prev_grad(c, 2, dtype, cell.state());
  for_each_row(cell, dtype, [&]<class T>(int64_t b) {
    cell_ops<T>().gru_grad({row<T>(gates, b), row<T>(h_gates, b),
                            row<T>(h_prev, b), row<T>(h_grad, b),
                            row<T>(x_gates_grad, b), row<T>(h_gates_grad, b),
                            row<T>(h_prev_grad, b), cell.units});
  });
  x_gates_grad.finish();
  h_gates_grad.finish();
  h_prev_grad.finish();
  return {};
}

}  // namespace

void register_cell_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("LSTMGates", run_lstm);
  add("LSTMGatesGrad", run_lstm_grad);
  add("GRUGates", run_gru);
  add("GRUGatesGrad", run_gru_grad);
}

}  // namespace rondo
