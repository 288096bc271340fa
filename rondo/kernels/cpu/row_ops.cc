#include "rondo/kernels/cpu/row_ops.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/row_ops.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include <cmath>

#include "rondo/kernels/cpu/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

template <class T>
T sum(const T* x, int64_t n) {
  return sum_of<T>(
      n, [=](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
}

// y = exp(x - shift), whose sum is returned.
template <class T>
HWY_INLINE T exp_and_sum(const T* x, T shift, T* y, int64_t n) {
  return sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto e = exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    hn::StoreU(e, d, y + i);
    return e;
  });
}

template <class T>
HWY_INLINE T exp_sum(const T* x, T shift, int64_t n) {
  return sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    return exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
  });
}

template <class T>
void affine(const T* x, T a, T b, T* y, int64_t n) {
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), hn::Set(d, a), hn::Set(d, b)), d,
               y + i);
  });
}

template <class T>
void softmax(const T* x, T* y, int64_t n) {
  if (n == 0) return;
  affine<T>(y, 1 / exp_and_sum(x, max_of(x, n), y, n), 0, y, n);
}

template <class T>
void log_softmax(const T* x, T* y, int64_t n) {
  if (n == 0) return;
  const T max = max_of(x, n);
  const T log_sum = std::log(exp_sum(x, max, n));
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto shifted = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max));
    hn::StoreU(hn::Sub(shifted, hn::Set(d, log_sum)), d, y + i);
  });
}

template <class T>
void softmax_grad(const T* y, const T* g, T* dx, int64_t n) {
  const T dot = sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, y + i), hn::LoadU(d, g + i));
  });
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto rest = hn::Sub(hn::LoadU(d, g + i), hn::Set(d, dot));
    hn::StoreU(hn::Mul(rest, hn::LoadU(d, y + i)), d, dx + i);
  });
}

template <class T>
void log_softmax_grad(const T* y, const T* g, T* dx, int64_t n) {
  const T total = sum(g, n);
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::NegMulAdd(exp_of(d, hn::LoadU(d, y + i)), hn::Set(d, total),
                             hn::LoadU(d, g + i)),
               d, dx + i);
  });
}

template <class T>
T cross_entropy(const T* logits, const T* labels, T* grad, int64_t n) {
  if (n == 0) return 0;
  const T max = max_of(logits, n);
  const T total = exp_and_sum(logits, max, grad, n);
  const T log_sum = max + std::log(total);
  // Labels that do not add up to 1 have the gradient that they have.
  const T scale = sum(labels, n) / total;
  // A label of 0 counts for nothing, even where its logit is -infinity.
  return sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto label = hn::LoadU(d, labels + i);
    const auto p = hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, scale));
    hn::StoreU(hn::Sub(p, label), d, grad + i);
    const auto term =
        hn::Mul(label, hn::Sub(hn::Set(d, log_sum), hn::LoadU(d, logits + i)));
    return hn::IfThenElse(hn::Eq(label, hn::Zero(d)), hn::Zero(d), term);
  });
}

template <class T>
T sparse_cross_entropy(const T* logits, int64_t label, T* grad, int64_t n) {
  const T max = max_of(logits, n);
  const T total = exp_and_sum(logits, max, grad, n);
  affine<T>(grad, 1 / total, 0, grad, n);
  grad[label] -= 1;
  return max + std::log(total) - logits[label];
}

// max(x, 0) - x z + log(1 + exp(-|x|)).
template <class T>
void sigmoid_cross_entropy(const T* logits, const T* labels, T* loss,
                           int64_t n) {
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, logits + i);
    const auto z = hn::LoadU(d, labels + i);
    const auto tail = hn::Log1p(d, exp_of(d, hn::Neg(hn::Abs(x))));
    const auto head = hn::NegMulAdd(x, z, hn::Max(x, hn::Zero(d)));
    hn::StoreU(hn::Add(head, tail), d, loss + i);
  });
}

template <class T>
void sigmoid_cross_entropy_grad(const T* logits, const T* labels, const T* g,
                                T* logits_grad, T* labels_grad, int64_t n) {
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, logits + i);
    const auto dy = hn::LoadU(d, g + i);
    const auto off = hn::Sub(sigmoid_of(d, x), hn::LoadU(d, labels + i));
    hn::StoreU(hn::Mul(off, dy), d, logits_grad + i);
    hn::StoreU(hn::Neg(hn::Mul(x, dy)), d, labels_grad + i);
  });
}

template <class T>
void dropout(const T* x, const T* random, T rate, T scale, T* y, int64_t n) {
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto keep = hn::Ge(hn::LoadU(d, random + i), hn::Set(d, rate));
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale));
    hn::StoreU(hn::IfThenElseZero(keep, scaled), d, y + i);
  });
}

template <class T>
RowMoments<T> moments(const T* x, int64_t n) {
  const T mean = sum(x, n) / static_cast<T>(n);
  const T deviations = sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(off, off);
  });
  return {mean, deviations};
}

template <class T>
void layer_norm(const LayerNormRow<T>& row, const T* offset, T* y) {
  const LayerNormRow<T> r = row;
  each<T>(r.n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::Sub(hn::LoadU(d, r.x + i), hn::Set(d, r.mean));
    const auto normal = hn::Mul(off, hn::Set(d, r.rstd));
    hn::StoreU(
        hn::MulAdd(normal, hn::LoadU(d, r.scale + i), hn::LoadU(d, offset + i)),
        d, y + i);
  });
}

// With h the normalised x and s = g scale: dx = rstd (s - mean(s) - h mean(s
// h)).
template <class T>
void layer_norm_grad(const LayerNormRow<T>& row, const T* g, T* dx,
                     T* scale_grad, T* offset_grad) {
  const LayerNormRow<T> r = row;
  const auto n = static_cast<T>(r.n);
  const T s_h = sum_of<T>(r.n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::Sub(hn::LoadU(d, r.x + i), hn::Set(d, r.mean));
    const auto h = hn::Mul(off, hn::Set(d, r.rstd));
    const auto dy = hn::LoadU(d, g + i);
    const auto g_h = hn::Mul(dy, h);
    hn::StoreU(hn::Add(hn::LoadU(d, scale_grad + i), g_h), d, scale_grad + i);
    hn::StoreU(hn::Add(hn::LoadU(d, offset_grad + i), dy), d, offset_grad + i);
    return hn::Mul(g_h, hn::LoadU(d, r.scale + i));
  });
  const T s = sum_of<T>(r.n, [=](auto d, int64_t i) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, r.scale + i));
  });
  const T mean_s = s / n, mean_s_h = s_h / n;
  each<T>(r.n, [=](auto d, int64_t i) HWY_ATTR {
    const auto off = hn::Sub(hn::LoadU(d, r.x + i), hn::Set(d, r.mean));
    const auto h = hn::Mul(off, hn::Set(d, r.rstd));
    const auto centred = hn::MulSub(
        hn::LoadU(d, g + i), hn::LoadU(d, r.scale + i), hn::Set(d, mean_s));
    hn::StoreU(hn::Mul(hn::NegMulAdd(h, hn::Set(d, mean_s_h), centred),
                       hn::Set(d, r.rstd)),
               d, dx + i);
  });
}

template <class T>
GradSums<T> grad_sums(const T* g, const T* x, T mean, int64_t n) {
  const T g_x = sum_of<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, g + i),
                   hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)));
  });
  return {sum(g, n), g_x};
}

template <class T>
void combine(const T* g, const T* x, T a, T b, T c, T* y, int64_t n) {
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto rest =
        hn::MulAdd(hn::LoadU(d, x + i), hn::Set(d, b), hn::Set(d, c));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, g + i), hn::Set(d, a), rest), d, y + i);
  });
}

// Rows that are added up at once: few enough for the processor to see that each
// is read in order, enough to keep the sums in registers for a while.
constexpr int64_t kRowsAtOnce = 8;

template <class T>
void column_sums(const T* x, int64_t rows, int64_t n, T* to) {
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t last = std::min(rows, first + kRowsAtOnce);
    each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
      auto total = hn::LoadU(d, to + i);
      for (int64_t r = first; r < last; ++r)
        total = hn::Add(total, hn::LoadU(d, x + r * n + i));
      hn::StoreU(total, d, to + i);
    });
  }
}

template <class T>
void column_moments(const T* x, int64_t rows, int64_t n, T* mean,
                    T* deviations) {
  const T scale = T{1} / static_cast<T>(rows);
  each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    auto total = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r)
      total = hn::Add(total, hn::LoadU(d, x + r * n + i));
    const auto centre = hn::Mul(total, hn::Set(d, scale));
    auto squares = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      const auto off = hn::Sub(hn::LoadU(d, x + r * n + i), centre);
      squares = hn::MulAdd(off, off, squares);
    }
    hn::StoreU(centre, d, mean + i);
    hn::StoreU(squares, d, deviations + i);
  });
}

template <class T>
void column_affine(const T* x, int64_t rows, int64_t n, const T* a, const T* b,
                   T* y) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * n;
    T* to = y + r * n;
    each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, from + i), hn::LoadU(d, a + i),
                            hn::LoadU(d, b + i)),
                 d, to + i);
    });
  }
}

template <class T>
void column_grad_sums(const T* g, const T* x, int64_t rows, int64_t n,
                      const T* mean, T* sum_g, T* sum_g_x) {
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t last = std::min(rows, first + kRowsAtOnce);
    each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
      auto s = hn::LoadU(d, sum_g + i);
      auto s_x = hn::LoadU(d, sum_g_x + i);
      const auto centre = hn::LoadU(d, mean + i);
      for (int64_t r = first; r < last; ++r) {
        const auto dy = hn::LoadU(d, g + r * n + i);
        s = hn::Add(s, dy);
        s_x = hn::MulAdd(dy, hn::Sub(hn::LoadU(d, x + r * n + i), centre), s_x);
      }
      hn::StoreU(s, d, sum_g + i);
      hn::StoreU(s_x, d, sum_g_x + i);
    });
  }
}

template <class T>
void column_combine(const T* g, const T* x, int64_t rows, int64_t n,
                    const T* abc, T* y) {
  const T* a = abc;
  const T* b = abc + n;
  const T* c = abc + 2 * n;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * n;
    each<T>(n, [=](auto d, int64_t i) HWY_ATTR {
      const auto rest = hn::MulAdd(hn::LoadU(d, x + at + i),
                                   hn::LoadU(d, b + i), hn::LoadU(d, c + i));
      hn::StoreU(
          hn::MulAdd(hn::LoadU(d, g + at + i), hn::LoadU(d, a + i), rest), d,
          y + at + i);
    });
  }
}

template <class T>
constexpr RowOps<T> kRowOps = {
    sum<T>,
    softmax<T>,
    log_softmax<T>,
    softmax_grad<T>,
    log_softmax_grad<T>,
    cross_entropy<T>,
    sparse_cross_entropy<T>,
    sigmoid_cross_entropy<T>,
    sigmoid_cross_entropy_grad<T>,
    dropout<T>,
    moments<T>,
    layer_norm<T>,
    layer_norm_grad<T>,
    affine<T>,
    grad_sums<T>,
    combine<T>,
    column_sums<T>,
    column_moments<T>,
    column_affine<T>,
    column_grad_sums<T>,
    column_combine<T>,
};

const RowOps<float>* row_ops_f32() { return &kRowOps<float>; }
const RowOps<double>* row_ops_f64() { return &kRowOps<double>; }

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {

HWY_EXPORT(row_ops_f32);
HWY_EXPORT(row_ops_f64);

template <>
const RowOps<float>& row_ops<float>() {
  static const RowOps<float>* const ops = HWY_DYNAMIC_DISPATCH(row_ops_f32)();
  return *ops;
}
template <>
const RowOps<double>& row_ops<double>() {
  static const RowOps<double>* const ops = HWY_DYNAMIC_DISPATCH(row_ops_f64)();
  return *ops;
}

}  // namespace rondo
#endif
