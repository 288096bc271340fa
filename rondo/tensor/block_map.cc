#include "rondo/tensor/block_map.h"

#include <algorithm>

namespace rondo {
namespace {

uint64_t round_up(uint64_t n, uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

BlockMap::BlockMap(uint64_t first, uint64_t end, uint64_t max_warm)
    : max_warm_(max_warm) {
  pages_.add({first, end});
}

std::optional<uint64_t> BlockMap::allocate(uint64_t bytes) {
  if (bytes > pages_.total() + grains_.total()) return std::nullopt;
  uint64_t size = round_up(std::max(bytes, kGrain), kGrain);
  if (size >= kLarge) {
    size = round_up(size, kPage);
    const auto offset = take_pages(size);
    if (offset) used_.emplace(*offset, size);
    return offset;
  }
  auto range = grains_.best_fit(size);
  if (!range) {
    auto slab = take_pages(kSlab);
    if (!slab) return std::nullopt;
    range = grains_.add({*slab, *slab + kSlab});
  }
  grains_.remove({range->start, range->start + size});
  used_.emplace(range->start, size);
  return range->start;
}

BlockMap::Freed BlockMap::free(uint64_t offset) {
  const auto it = used_.find(offset);
  if (it == used_.end()) return {};
  const OffsetRange block{offset, offset + it->second};
  used_.erase(it);
  if (block.size() >= kLarge) return {true, release_pages(block)};
  // A slab's worth of free grains goes back to the pages, where large blocks
  // can use it. One slab stays, so that a block that comes and goes does not
  // move a slab back and forth.
  const OffsetRange free_part = grains_.add(block);
  if (free_part.size() < kSlab || grains_.total() < 2 * kSlab)
    return {true, {}};
  const OffsetRange pages{round_up(free_part.start, kPage),
                          free_part.end / kPage * kPage};
  grains_.remove(pages);
  return {true, release_pages(pages)};
}

std::optional<uint64_t> BlockMap::take_pages(uint64_t bytes) {
  const auto range = pages_.best_fit(bytes);
  if (!range) return std::nullopt;
  const OffsetRange taken{range->start, range->start + bytes};
  pages_.remove(taken);
  warm_.remove(taken);
  return taken.start;
}

OffsetRange BlockMap::release_pages(OffsetRange pages) {
  if (warm_.total() + pages.size() > max_warm_) return pages;
  warm_.add(pages);
  pages_.add(pages);
  return {};
}

}  // namespace rondo
