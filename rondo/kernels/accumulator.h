// Accumulator: adds up gradients of several runs until one takes them.
//
// It is at a step, a number that each taking raises by one. Gradients of
// earlier steps are stale and dropped. Sums of 16-bit elements are kept in 32
// bits.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "rondo/kernels/waiting.h"

namespace rondo {

struct AccumulatorKind {
  DType dtype = DType::kF32;
  PartialShape shape = {};  // of the gradients, as far as known
  bool mean = true;         // or the sum
  bool sparse = false;      // rows of a tensor, or the whole tensor
  bool operator==(const AccumulatorKind&) const = default;
};

// A gradient that consists of rows: values[k] belongs to row indices[k] of a
// tensor of `shape`, of which nothing is known when it is empty.
struct GradientRows {
  const Tensor& values;
  const Tensor& indices;
  const Tensor& shape;
};

class RONDO_API Accumulator final : public Waitable {
 public:
  // Before anything else, for every node that uses it; an error when nodes do
  // not agree.
  Status configure(const std::string& name, const AccumulatorKind& options);

  // Each adds one gradient, of this step; a stale one is dropped.
  Status apply(int64_t step, const Tensor& gradient);
  Status apply(int64_t step, const GradientRows& gradient);
  // Ends by `done`, with the outputs filled, once there are `required`
  // gradients, at least one.
  void take(KernelContext& context, int64_t required, AsyncKernel::Done done);
  // Unless it is further already.
  void set_step(int64_t step);
  // Be it further or not.
  void resume_at(int64_t step);
  int64_t count() const;

 private:
  struct Taking;
  // The sum of one row, and of how many gradients.
  struct Row {
    Tensor sum;
    int64_t count = 0;
  };

  void list(const std::shared_ptr<WaitingKernel>& waiter,
            Ended& ended) override;
  void unlist(const std::shared_ptr<WaitingKernel>& waiter) override;
  void advance(Ended& ended) override;
  Status wrong_shape(const PartialShape& got) const;
  Result<PartialShape> shape_with(const GradientRows& gradient) const;
  void add_rows(const GradientRows& gradient);

  // All guarded by mutex_.
  std::string name_;
  AccumulatorKind options_;
  bool configured_ = false;
  int64_t step_ = 0;
  int64_t count_ = 0;
  Tensor sum_;                   // of the dense kind, where count_ > 0
  PartialShape shape_;           // of the sparse kind: what is known by now
  std::map<int64_t, Row> rows_;  // by index
  std::deque<std::shared_ptr<Taking>> taking_;
};

}  // namespace rondo
