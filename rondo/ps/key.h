// Key: a tensor that parameter servers keep, and the parts into which it is
// cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rondo/ps/kv_optimizer.h"
#include "rondo/tensor/reduce.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

struct Key {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  // Rows can be pushed and pulled one by one, so none is cut.
  bool by_rows = false;
  // What changes it; empty: the optimizer of the servers' rules.
  std::optional<KvOptimizer> optimizer = {};
  // Instead of an optimizer, in the synchronous mode: the key's value becomes
  // the sum (kSum) or the mean (kAvg) of what workers push in a step, so that
  // servers only reduce. It needs no initial value.
  std::optional<ReduceOp> reduces = {};

  // Elements of a row: of all but the first extent. At least 1, also where
  // there are none, so that it can be divided by.
  int64_t width() const {
    if (shape.rank() == 0 || shape.count() == 0) return 1;
    return shape.count() / shape[0];
  }
  bool operator==(const Key&) const = default;
};

// Elements [begin, end) of a key, on a server.
struct KeyPart {
  int server = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
  bool operator==(const KeyPart&) const = default;
};

}  // namespace rondo
