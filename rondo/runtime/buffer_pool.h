// BufferPool: memory for the tensors of steps, used again from step to step.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "rondo/kernels/kernel.h"

namespace rondo {

// Blocks come from the process's shared heap, so peers on the host can map what
// is computed in them. A block that its tensors have let go waits here: a small
// one for the next tensor of about its size, a large one, with the free blocks
// beside it, for any tensor that it is long enough for. Tensors may outlive the
// pool. Any thread.
class RONDO_API BufferPool final : public Allocator {
 public:
  BufferPool();
  ~BufferPool() override;
  Tensor allocate(DType dtype, const Shape& shape) override;
  // Bytes in blocks, in use and waiting.
  size_t bytes() const;
  // The most that large blocks had in use at a time.
  size_t most_in_use() const;

 private:
  struct Blocks;
  struct GiveBack;
  Tensor small_block(int index);

  std::shared_ptr<Blocks> blocks_;
};

}  // namespace rondo
