// Arena: large blocks of memory, cut from a few larger ones.
//
// A request takes the smallest free block that is long enough, and leaves the
// rest of it; a freed block joins its free neighbours. So memory that served
// one size serves another.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/tensor/tensor.h"

namespace rondo {

// Not thread-safe. Its memory goes when it does: blocks must have come back.
class RONDO_API Arena {
 public:
  static constexpr size_t kPage = 4096;

  // Aligned to 64 bytes. Throws rondo::Error when there is no memory.
  void* allocate(size_t bytes);
  // What allocate() gave.
  void free(void* block);

  // Bytes that blocks in use have now, and the most that they had at a time.
  size_t in_use() const { return in_use_; }
  size_t most_in_use() const { return most_in_use_; }
  // Bytes that were ever in use: what the system had to give.
  size_t touched() const;

 private:
  struct Block {
    size_t offset;
    size_t bytes;
    bool free;
  };
  struct Region {
    Tensor memory;
    std::vector<Block> blocks;  // in order, without gaps
    size_t touched = 0;         // from the start
  };
  static char* base(Region& region) {
    return static_cast<char*>(region.memory.data());
  }
  Region& add_region(size_t bytes);

  std::vector<Region> regions_;
  size_t next_indent_ = 0;
  size_t in_use_ = 0;
  size_t most_in_use_ = 0;
};

}  // namespace rondo
