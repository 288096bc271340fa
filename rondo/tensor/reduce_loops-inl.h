// The loops over arrays, compiled once per instruction set.
//
// An array is walked in this order: a head, element by element, up to where the
// destination is aligned to a vector; blocks of four vectors; single vectors;
// 128-bit vectors; the rest element by element. Within a block the sources are
// combined in registers and then stored to every destination, four vectors at a
// time, so that a streamed cache line is written whole.
#if defined(RONDO_TENSOR_REDUCE_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_TENSOR_REDUCE_LOOPS_INL_H_
#undef RONDO_TENSOR_REDUCE_LOOPS_INL_H_
#else
#define RONDO_TENSOR_REDUCE_LOOPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "rondo/tensor/reduce_job.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// L: an element type (reduce_lanes-inl.h). Op: an operator (reduce_ops-inl.h).
// kScale: whether results are multiplied by the job's scale. kIns: the number
// of sources when it is known here (the compiler then keeps the pointers in
// registers), or 0.
template <class L, class Op, bool kScale, size_t kIns>
class Loop {
 public:
  static void run(const ReduceJob& job) { Loop(job).run_all(); }

 private:
  using Element = typename L::Element;
  using Lane = typename L::Lane;
  static constexpr size_t kKept = kIns == 0 ? 1 : kIns;

  explicit HWY_INLINE Loop(const ReduceJob& job) : job_(job) {
    for (size_t s = 0; s < kKept; ++s)
      kept_[s] = static_cast<const Element*>(job.in[s]);
  }

  HWY_INLINE size_t ins() const { return kIns == 0 ? job_.ins : kIns; }
  HWY_INLINE const Element* in(size_t s) const {
    if constexpr (kIns == 0)
      return s == 0 ? kept_[0] : static_cast<const Element*>(job_.in[s]);
    else
      return kept_[s];
  }
  HWY_INLINE Element* out(size_t j) const {
    return static_cast<Element*>(job_.out[j]);
  }

  template <class D, class V>
  HWY_INLINE V finish(D d, V v) const {
    if constexpr (!kScale)
      return v;
    else if constexpr (sizeof(Lane) == 8)
      return hn::Mul(v, hn::Set(d, job_.scale64));
    else
      return hn::Mul(v, hn::Set(d, job_.scale32));
  }

  HWY_INLINE void run_all() const {
    const hn::ScalableTag<Lane> full;
    const hn::CappedTag<Lane, 16 / sizeof(Lane)> narrow;
    const hn::CappedTag<Lane, 1> one;
    const size_t n = hn::Lanes(full);
    const size_t end = job_.end;
    size_t i = job_.begin;
    if (end - i >= 8 * n) {
      const size_t to_aligned = head(n * sizeof(Lane));
      i = singles(one, i, i + to_aligned);
      const uint64_t streamed =
          job_.streaming ? streamable(i, n * sizeof(Lane)) : 0;
      if (streamed != 0)
        i = blocks<true>(full, i, end, streamed);
      else
        i = blocks<false>(full, i, end, 0);
    }
    i = singles(full, i, end);
    i = singles(narrow, i, end);
    singles(one, i, end);
  }

  // Elements before the first destination is aligned to `bytes`; 0 when it
  // never is, because it is not even aligned to its elements.
  HWY_INLINE size_t head(size_t bytes) const {
    const auto at = reinterpret_cast<uintptr_t>(out(0) + job_.begin);
    const size_t missing = (0 - at) & (bytes - 1);
    return missing % sizeof(Element) == 0 ? missing / sizeof(Element) : 0;
  }

  // Bit j: whether destination j is streamed. It must be aligned at element i.
  // One that is a source as well is stored normally: its lines were just read
  // into the cache, and streaming would throw them out again.
  HWY_INLINE uint64_t streamable(size_t i, size_t bytes) const {
    uint64_t mask = 0;
    for (size_t j = 0; j < job_.outs && j < 64; ++j) {
      bool yes = reinterpret_cast<uintptr_t>(out(j) + i) % bytes == 0;
      for (size_t s = 0; s < ins(); ++s) yes = yes && out(j) != in(s);
      mask |= static_cast<uint64_t>(yes) << j;
    }
    return mask;
  }

  template <bool kStream, class D>
  HWY_INLINE size_t blocks(D d, size_t i, size_t end, uint64_t streamed) const {
    const size_t n = hn::Lanes(d);
    for (; end - i >= 4 * n; i += 4 * n) {
      const Element* first = in(0) + i;
      auto a = L::load(d, first);
      auto b = L::load(d, first + n);
      auto c = L::load(d, first + 2 * n);
      auto e = L::load(d, first + 3 * n);
      for (size_t s = 1; s < ins(); ++s) {
        const Element* p = in(s) + i;
        a = Op::apply(d, a, L::load(d, p));
        b = Op::apply(d, b, L::load(d, p + n));
        c = Op::apply(d, c, L::load(d, p + 2 * n));
        e = Op::apply(d, e, L::load(d, p + 3 * n));
      }
      a = finish(d, a);
      b = finish(d, b);
      c = finish(d, c);
      e = finish(d, e);
      for (size_t j = 0; j < job_.outs; ++j) {
        Element* p = out(j) + i;
        if (kStream && j < 64 && (streamed >> j & 1) != 0) {
          L::stream4(d, a, b, c, e, p);
        } else {
          L::store(d, a, p);
          L::store(d, b, p + n);
          L::store(d, c, p + 2 * n);
          L::store(d, e, p + 3 * n);
        }
      }
    }
    return i;
  }

  template <class D>
  HWY_INLINE size_t singles(D d, size_t i, size_t end) const {
    const size_t n = hn::Lanes(d);
    for (; end - i >= n; i += n) {
      auto v = L::load(d, in(0) + i);
      for (size_t s = 1; s < ins(); ++s)
        v = Op::apply(d, v, L::load(d, in(s) + i));
      v = finish(d, v);
      for (size_t j = 0; j < job_.outs; ++j) L::store(d, v, out(j) + i);
    }
    return i;
  }

  const ReduceJob& job_;
  const Element* kept_[kKept];
};

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RONDO_TENSOR_REDUCE_LOOPS_INL_H_
