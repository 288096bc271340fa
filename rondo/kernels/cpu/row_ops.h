// RowOps: loops over rows of f32 or f64, compiled for every instruction set.
//
// A row is n adjacent elements. "Columns" are the n columns of several adjacent
// rows; what has one element per column is called a row's worth.
#pragma once

#include <cstdint>

namespace rondo {

template <class T>
struct RowMoments {
  T mean = 0;
  T deviations = 0;  // the sum of the squared deviations from the mean
};

// The sums of g, and of g times x's deviation from a mean.
template <class T>
struct GradSums {
  T g = 0;
  T g_x = 0;
};

// What x of a row of a layer norm becomes: (x - mean) rstd scale + offset.
template <class T>
struct LayerNormRow {
  const T* x;
  const T* scale;
  int64_t n;
  T mean;
  T rstd;
};

template <class T>
struct RowOps {
  T (*sum)(const T* x, int64_t n);
  void (*softmax)(const T* x, T* y, int64_t n);
  void (*log_softmax)(const T* x, T* y, int64_t n);
  // dx from the result y and its gradient g.
  void (*softmax_grad)(const T* y, const T* g, T* dx, int64_t n);
  void (*log_softmax_grad)(const T* y, const T* g, T* dx, int64_t n);
  // The loss; its gradient by the logits goes to `grad`.
  T (*cross_entropy)(const T* logits, const T* labels, T* grad, int64_t n);
  T (*sparse_cross_entropy)(const T* logits, int64_t label, T* grad, int64_t n);
  void (*sigmoid_cross_entropy)(const T* logits, const T* labels, T* loss,
                                int64_t n);
  // The gradients by logits and labels, from that of the loss.
  void (*sigmoid_cross_entropy_grad)(const T* logits, const T* labels,
                                     const T* g, T* logits_grad, T* labels_grad,
                                     int64_t n);
  // y = x scale where random >= rate, otherwise 0.
  void (*dropout)(const T* x, const T* random, T rate, T scale, T* y,
                  int64_t n);

  RowMoments<T> (*moments)(const T* x, int64_t n);
  void (*layer_norm)(const LayerNormRow<T>& row, const T* offset, T* y);
  // Adds to a row's worth of scale_grad and offset_grad.
  void (*layer_norm_grad)(const LayerNormRow<T>& row, const T* g, T* dx,
                          T* scale_grad, T* offset_grad);

  // y = a x + b.
  void (*affine)(const T* x, T a, T b, T* y, int64_t n);
  GradSums<T> (*grad_sums)(const T* g, const T* x, T mean, int64_t n);
  // y = a g + b x + c.
  void (*combine)(const T* g, const T* x, T a, T b, T c, T* y, int64_t n);

  // The same by columns. These add to `sum`; moments are set.
  void (*column_sums)(const T* x, int64_t rows, int64_t n, T* sum);
  void (*column_moments)(const T* x, int64_t rows, int64_t n, T* mean,
                         T* deviations);
  void (*column_affine)(const T* x, int64_t rows, int64_t n, const T* a,
                        const T* b, T* y);
  void (*column_grad_sums)(const T* g, const T* x, int64_t rows, int64_t n,
                           const T* mean, T* sum_g, T* sum_g_x);
  // abc: a row's worth of a, then of b, then of c.
  void (*column_combine)(const T* g, const T* x, int64_t rows, int64_t n,
                         const T* abc, T* y);
};

// For this processor. T is float or double.
template <class T>
const RowOps<T>& row_ops();

}  // namespace rondo
