// Buckets of a step's exchanges: which of them travel together.
//
// A unit is a reduction that may travel together with its neighbours, those
// with the next lower and the next higher number; units that do are a bucket.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "rondo/kernels/exchange.h"

namespace rondo {

// One exchange of a step.
struct ExchangeUnit {
  int64_t sequence = 0;
  int64_t bytes = 0;  // 0: it travels alone
  DType dtype = DType::kF32;
  ReduceTerms terms = {};
  // Units of another family may need this one's result, so they would wait for
  // themselves in one bucket with it.
  int64_t family = 0;
  auto operator<=>(const ExchangeUnit&) const = default;
};

// By the number of an exchange, that of the last one in its bucket.
using ExchangeBuckets = std::map<int64_t, int64_t>;

// `units` are in the order of their numbers. A bucket has units of one type
// and one family that are reduced alike, at least one, and more while they fit
// into `limit` bytes. The first unit of all is alone, so that communication
// begins early. With a limit of 0, all are.
RONDO_API ExchangeBuckets buckets_of(const std::vector<ExchangeUnit>& units,
                                     int64_t limit);

}  // namespace rondo
