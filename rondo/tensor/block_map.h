// BlockMap: which parts of the heap are in use. Internal to tensor/.
//
// It hands out offsets in [first, end) and never looks at the memory itself, so
// nothing that is written to the heap can damage it. Large blocks (64 KiB and
// up) are whole pages; small ones are multiples of 64 bytes, cut from slabs so
// that they do not scatter over the pages.
//
// The map also knows which free pages may still hold memory ("warm", because
// somebody used them) and asks for the excess over a bound to be given back.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "rondo/tensor/range_set.h"

namespace rondo {

// Not thread-safe.
class BlockMap {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kGrain = 64;
  static constexpr uint64_t kLarge = 64 << 10;
  static constexpr uint64_t kSlab = 1 << 20;

  // `first` and `end` are multiples of a page. At most `max_warm` bytes of free
  // memory stay warm.
  BlockMap(uint64_t first, uint64_t end, uint64_t max_warm);

  // The offset of `bytes` bytes, 64-byte-aligned, page-aligned when large.
  // nullopt when no free range is long enough.
  std::optional<uint64_t> allocate(uint64_t bytes);

  struct Freed {
    bool known = false;  // false: no block starts there, and nothing was done
    // Pages to give back to the system and then to hand to `cooled`. They count
    // as used until then. Empty when there is nothing to do.
    OffsetRange cold;
  };
  Freed free(uint64_t offset);
  // Makes pages that were given back to the system available again.
  void cooled(OffsetRange pages) { pages_.add(pages); }

  uint64_t warm() const { return warm_.total(); }

 private:
  std::optional<uint64_t> take_pages(uint64_t bytes);
  OffsetRange release_pages(OffsetRange pages);

  const uint64_t max_warm_;
  RangeSet pages_;   // free, whole pages
  RangeSet grains_;  // free parts of slabs
  RangeSet warm_;    // the part of pages_ that may hold memory
  std::unordered_map<uint64_t, uint64_t> used_;  // offset to rounded size
};

}  // namespace rondo
