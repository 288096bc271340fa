// Examples: what a model learns from, in memory.
#pragma once

#include <string>

#include "rondo/tensor/tensor.h"

namespace rondo {

// Bytes, one example per row of both tensors.
struct Examples {
  Tensor inputs;  // u8 [count, ...]: pixels, or characters of a text
  Tensor labels;  // u8 [count], or [count, places] of a text
  int64_t count() const { return labels.count() == 0 ? 0 : labels.shape()[0]; }
};

enum class ExampleKind {
  kImages,  // inputs [count, height, width, channels], labels [count]
  kText,    // both [count, places]: at each place what comes next
};

// Data of one kind, and in how many classes its labels are.
struct TrainingData {
  std::string name;  // for people
  ExampleKind kind = ExampleKind::kImages;
  int64_t classes = 10;
  Examples train;
  Examples test;
};

}  // namespace rondo
