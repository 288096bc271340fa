// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/pool_rows.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/pool_rows.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lanes come in blocks of 16, which whole vectors fill on every machine.
using Floats = hn::CappedTag<float, WindowRow::kBlock>;
using Numbers = hn::Rebind<int32_t, Floats>;
using Bytes = hn::Rebind<uint8_t, Floats>;

void max_row(const WindowRow& s, const float* HWY_RESTRICT x,
             float* HWY_RESTRICT y, uint8_t* HWY_RESTRICT where) {
  const Floats d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < s.count; ++j)
    for (int64_t c = 0; c < s.lanes; c += step) {
      const float* const window = x + j * s.next + c;
      auto best = hn::LoadU(d, window);
      auto place = hn::Zero(Numbers());
      int32_t k = 0;
      for (int64_t row = 0; row < s.height; ++row)
        for (int64_t column = 0; column < s.width; ++column, ++k) {
          const auto now =
              hn::LoadU(d, window + row * s.row + column * s.column);
          const auto more = hn::Or(hn::Gt(now, best), hn::IsNaN(now));
          best = hn::IfThenElse(more, now, best);
          place = hn::IfThenElse(hn::RebindMask(Numbers(), more),
                                 hn::Set(Numbers(), k), place);
        }
      hn::StoreU(best, d, y + j * s.out + c);
      hn::StoreU(hn::DemoteTo(Bytes(), place), Bytes(), where + j * s.out + c);
    }
}

void spread_row(const WindowRow& s, const float* HWY_RESTRICT grad,
                const uint8_t* HWY_RESTRICT where, float* HWY_RESTRICT x) {
  const Floats d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < s.count; ++j)
    for (int64_t c = 0; c < s.lanes; c += step) {
      float* const window = x + j * s.next + c;
      const auto from = hn::LoadU(d, grad + j * s.out + c);
      const auto place =
          hn::PromoteTo(Numbers(), hn::LoadU(Bytes(), where + j * s.out + c));
      int32_t k = 0;
      for (int64_t row = 0; row < s.height; ++row)
        for (int64_t column = 0; column < s.width; ++column, ++k)
          hn::StoreU(
              hn::IfThenElseZero(
                  hn::RebindMask(d, hn::Eq(place, hn::Set(Numbers(), k))),
                  from),
              d, window + row * s.row + column * s.column);
    }
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {

HWY_EXPORT(max_row);
HWY_EXPORT(spread_row);

void max_row(const WindowRow& s, const float* x, float* y, uint8_t* where) {
  HWY_DYNAMIC_DISPATCH(max_row)(s, x, y, where);
}

void spread_row(const WindowRow& s, const float* grad, const uint8_t* where,
                float* x) {
  HWY_DYNAMIC_DISPATCH(spread_row)(s, grad, where, x);
}

}  // namespace rondo
#endif
