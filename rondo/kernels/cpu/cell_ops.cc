#include "rondo/kernels/cpu/cell_ops.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/cell_ops.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}
// What the gradient of sigmoid and tanh has as its factor, by their results.
template <class D, class V>
HWY_INLINE V sigmoid_slope(D d, V y) {
  return hn::Mul(y, hn::Sub(hn::Set(d, 1), y));
}
template <class D, class V>
HWY_INLINE V tanh_slope(D d, V y) {
  return hn::NegMulAdd(y, y, hn::Set(d, 1));
}

template <class T>
void lstm(const LstmRow<T>& row, T forget_bias) {
  const LstmRow<T> r = row;
  each<T>(r.units, [=](auto d, int64_t i) HWY_ATTR {
    const int64_t n = r.units;
    const T* x = r.x_gates + i;
    const T* h = r.h_gates + i;
    const auto in = sigmoid_of(d, hn::Add(hn::LoadU(d, x), hn::LoadU(d, h)));
    const auto candidate =
        tanh_of(d, hn::Add(hn::LoadU(d, x + n), hn::LoadU(d, h + n)));
    const auto forget = sigmoid_of(
        d, hn::Add(hn::Add(hn::LoadU(d, x + 2 * n), hn::LoadU(d, h + 2 * n)),
                   hn::Set(d, forget_bias)));
    const auto out = sigmoid_of(
        d, hn::Add(hn::LoadU(d, x + 3 * n), hn::LoadU(d, h + 3 * n)));
    const auto c =
        hn::MulAdd(forget, hn::LoadU(d, r.c_prev + i), hn::Mul(in, candidate));
    hn::StoreU(c, d, r.c + i);
    hn::StoreU(hn::Mul(out, tanh_of(d, c)), d, r.h + i);
    T* gates = r.gates + i;
    hn::StoreU(in, d, gates);
    hn::StoreU(candidate, d, gates + n);
    hn::StoreU(forget, d, gates + 2 * n);
    hn::StoreU(out, d, gates + 3 * n);
  });
}

template <class T>
void lstm_grad(const LstmGradRow<T>& row) {
  const LstmGradRow<T> r = row;
  each<T>(r.units, [=](auto d, int64_t i) HWY_ATTR {
    const int64_t n = r.units;
    const T* gates = r.gates + i;
    const auto in = hn::LoadU(d, gates);
    const auto candidate = hn::LoadU(d, gates + n);
    const auto forget = hn::LoadU(d, gates + 2 * n);
    const auto out = hn::LoadU(d, gates + 3 * n);
    const auto th = tanh_of(d, hn::LoadU(d, r.c + i));
    const auto dh = hn::LoadU(d, r.h_grad + i);
    const auto dc = hn::MulAdd(hn::Mul(dh, out), tanh_slope(d, th),
                               hn::LoadU(d, r.c_grad + i));
    const auto c_prev = hn::LoadU(d, r.c_prev + i);
    T* to = r.gates_grad + i;
    hn::StoreU(hn::Mul(hn::Mul(dc, candidate), sigmoid_slope(d, in)), d, to);
    hn::StoreU(hn::Mul(hn::Mul(dc, in), tanh_slope(d, candidate)), d, to + n);
    hn::StoreU(hn::Mul(hn::Mul(dc, c_prev), sigmoid_slope(d, forget)), d,
               to + 2 * n);
    hn::StoreU(hn::Mul(hn::Mul(dh, th), sigmoid_slope(d, out)), d, to + 3 * n);
    hn::StoreU(hn::Mul(dc, forget), d, r.c_prev_grad + i);
  });
}

template <class T>
void gru(const GruRow<T>& row) {
  const GruRow<T> r = row;
  each<T>(r.units, [=](auto d, int64_t i) HWY_ATTR {
    const int64_t n = r.units;
    const T* x = r.x_gates + i;
    const T* h = r.h_gates + i;
    const auto reset = sigmoid_of(d, hn::Add(hn::LoadU(d, x), hn::LoadU(d, h)));
    const auto update =
        sigmoid_of(d, hn::Add(hn::LoadU(d, x + n), hn::LoadU(d, h + n)));
    const auto candidate = tanh_of(
        d, hn::MulAdd(reset, hn::LoadU(d, h + 2 * n), hn::LoadU(d, x + 2 * n)));
    const auto off = hn::Sub(hn::LoadU(d, r.h_prev + i), candidate);
    hn::StoreU(hn::MulAdd(update, off, candidate), d, r.h + i);
    T* gates = r.gates + i;
    hn::StoreU(reset, d, gates);
    hn::StoreU(update, d, gates + n);
    hn::StoreU(candidate, d, gates + 2 * n);
  });
}

template <class T>
void gru_grad(const GruGradRow<T>& row) {
  const GruGradRow<T> r = row;
  each<T>(r.units, [=](auto d, int64_t i) HWY_ATTR {
    const int64_t n = r.units;
    const auto reset = hn::LoadU(d, r.gates + i);
    const auto update = hn::LoadU(d, r.gates + n + i);
    const auto candidate = hn::LoadU(d, r.gates + 2 * n + i);
    const auto dh = hn::LoadU(d, r.h_grad + i);
    const auto off = hn::Sub(hn::LoadU(d, r.h_prev + i), candidate);
    const auto d_update = hn::Mul(hn::Mul(dh, off), sigmoid_slope(d, update));
    const auto d_candidate = hn::Mul(
        hn::Mul(dh, hn::Sub(hn::Set(d, 1), update)), tanh_slope(d, candidate));
    const auto d_reset =
        hn::Mul(hn::Mul(d_candidate, hn::LoadU(d, r.h_gates + 2 * n + i)),
                sigmoid_slope(d, reset));
    hn::StoreU(d_reset, d, r.x_gates_grad + i);
    hn::StoreU(d_update, d, r.x_gates_grad + n + i);
    hn::StoreU(d_candidate, d, r.x_gates_grad + 2 * n + i);
    hn::StoreU(d_reset, d, r.h_gates_grad + i);
    hn::StoreU(d_update, d, r.h_gates_grad + n + i);
    hn::StoreU(hn::Mul(d_candidate, reset), d, r.h_gates_grad + 2 * n + i);
    hn::StoreU(hn::Mul(dh, update), d, r.h_prev_grad + i);
  });
}

template <class T>
constexpr CellOps<T> kCellOps = {lstm<T>, lstm_grad<T>, gru<T>, gru_grad<T>};

const CellOps<float>* cell_ops_f32() { return &kCellOps<float>; }
const CellOps<double>* cell_ops_f64() { return &kCellOps<double>; }

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {

HWY_EXPORT(cell_ops_f32);
HWY_EXPORT(cell_ops_f64);

template <>
const CellOps<float>& cell_ops<float>() {
  static const CellOps<float>* const ops = HWY_DYNAMIC_DISPATCH(cell_ops_f32)();
  return *ops;
}
template <>
const CellOps<double>& cell_ops<double>() {
  static const CellOps<double>* const ops =
      HWY_DYNAMIC_DISPATCH(cell_ops_f64)();
  return *ops;
}

}  // namespace rondo
#endif
