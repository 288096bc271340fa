// Examples: what a model learns from, in memory or read as it is needed.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// Inputs that are too many for the memory.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;
  // [count, ...]: that of a tensor of all.
  virtual Shape shape() const = 0;
  // Of the names of what is read: another list has another.
  virtual uint32_t checksum() const = 0;
  // One row of it. Any thread.
  virtual Status read(int64_t row, std::span<uint8_t> into) const = 0;
};

// One example per row of both tensors.
struct Examples {
  // u8 [count, ...]: pixels, or characters of a text. None where the reader has
  // them.
  Tensor inputs = {};
  Tensor labels = {};  // u8 or i64 [count], or [count, places] of a text
  std::shared_ptr<const ExampleReader> reader = nullptr;

  Shape input_shape() const {
    return reader ? reader->shape() : inputs.shape();
  }
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
