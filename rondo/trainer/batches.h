// Batches: the examples of each step, in an order that all ranks share.
#pragma once

#include <future>
#include <vector>

#include "rondo/trainer/examples.h"

namespace rondo {

// What a model is fed: f32 pixels from 0 to 1, or i64 characters; i64 labels.
struct Batch {
  Tensor inputs;
  Tensor labels;
  int64_t rows() const { return labels.shape()[0]; }
};

// Rows `rows` of the examples. Fails where they have to be read and cannot be.
Result<Batch> make_batch(const Examples& examples, ExampleKind kind,
                         std::span<const int64_t> rows);
// Rows from `first` to `last`, without it.
Result<Batch> make_batch(const Examples& examples, ExampleKind kind,
                         int64_t first, int64_t last);

// Each epoch goes through all examples in an order of its own, which depends on
// the seed alone: where training stands is one number, its step. What does not
// fill a batch at the end of an epoch is left out. The examples must outlive
// it. One thread at a time.
class Batches {
 public:
  // `batch` examples of all ranks together; at most as many as there are.
  Batches(const Examples& examples, ExampleKind kind, int64_t batch,
          uint64_t seed);

  int64_t steps_per_epoch() const { return examples_.count() / batch_; }
  // Of a step's batch, the share of one rank; the shares of all ranks are the
  // batch. `batch` is a multiple of `size`.
  // Where examples have to be read, that of the next step is read meanwhile.
  Result<Batch> share(int64_t step, int rank, int size);
  // Which examples these are.
  std::vector<int64_t> rows(int64_t step, int rank, int size);

 private:
  // Which examples are being read.
  struct Ahead {
    std::vector<int64_t> rows;
    std::future<Result<Batch>> batch;
  };
  void shuffle(int64_t epoch);

  const Examples& examples_;
  const ExampleKind kind_;
  const int64_t batch_;
  const uint64_t seed_;
  int64_t epoch_ = -1;          // of which order_ is
  std::vector<int64_t> order_;  // the examples of this epoch
  Ahead ahead_;
};

}  // namespace rondo
