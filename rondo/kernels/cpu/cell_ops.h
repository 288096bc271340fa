// CellOps: the element-wise parts of recurrent cells for one row of a batch, of
// f32 or f64, compiled for every instruction set.
#pragma once

#include <cstdint>

namespace rondo {

// Gates are 4 times `units` elements: input, candidate, forget, output.
template <class T>
struct LstmRow {
  const T* x_gates;
  const T* h_gates;
  const T* c_prev;
  T* h;
  T* c;
  T* gates;  // as used
  int64_t units;
};
template <class T>
struct LstmGradRow {
  const T* gates;
  const T* c_prev;
  const T* c;
  const T* h_grad;
  const T* c_grad;
  T* gates_grad;
  T* c_prev_grad;
  int64_t units;
};
// Gates are 3 times `units` elements: reset, update, candidate.
template <class T>
struct GruRow {
  const T* x_gates;
  const T* h_gates;
  const T* h_prev;
  T* h;
  T* gates;  // as used
  int64_t units;
};
template <class T>
struct GruGradRow {
  const T* gates;
  const T* h_gates;
  const T* h_prev;
  const T* h_grad;
  T* x_gates_grad;
  T* h_gates_grad;
  T* h_prev_grad;
  int64_t units;
};

template <class T>
struct CellOps {
  void (*lstm)(const LstmRow<T>& row, T forget_bias);
  void (*lstm_grad)(const LstmGradRow<T>& row);
  void (*gru)(const GruRow<T>& row);
  void (*gru_grad)(const GruGradRow<T>& row);
};

// For this processor. T is float or double.
template <class T>
const CellOps<T>& cell_ops();

}  // namespace rondo
