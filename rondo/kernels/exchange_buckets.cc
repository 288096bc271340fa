#include "rondo/kernels/exchange_buckets.h"

namespace rondo {
namespace {

bool alike(const ExchangeUnit& one, const ExchangeUnit& other) {
  return one.bytes > 0 && other.bytes > 0 && one.dtype == other.dtype &&
         one.terms == other.terms && one.family == other.family;
}

}  // namespace

ExchangeBuckets buckets_of(const std::vector<ExchangeUnit>& units,
                           int64_t limit) {
  ExchangeBuckets buckets;
  bool early = true;  // whether no unit has travelled yet
  for (size_t begin = 0; begin < units.size();) {
    size_t end = begin + 1;
    int64_t bytes = units[begin].bytes;
    const bool alone = early && bytes > 0;
    while (!alone && end < units.size() && alike(units[begin], units[end]) &&
           bytes + units[end].bytes <= limit)
      bytes += units[end++].bytes;
    if (alone) early = false;
    for (; begin < end; ++begin)
      buckets[units[begin].sequence] = units[end - 1].sequence;
  }
  return buckets;
}

}  // namespace rondo
