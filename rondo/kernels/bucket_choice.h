// BucketChoice: which sizes of buckets a training tries, and what it has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/export.h"

namespace rondo {

struct BucketChoice {
  struct Size {
    int64_t limit = 0;    // bytes
    int64_t buckets = 0;  // in a step
    double seconds = 0;   // a step, the mean of all ranks; 0: not known
  };
  std::vector<Size> sizes;  // the first is the usual one
  bool settled = false;
  size_t chosen = 0;  // of the sizes
};

// "buckets of up to 16 MiB, 8 in a step: 190.1 ms a step; with 1 MiB 210 ms, …"
RONDO_API std::string to_text(const BucketChoice& choice);

}  // namespace rondo
