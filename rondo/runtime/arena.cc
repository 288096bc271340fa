#include "rondo/runtime/arena.h"

#include <algorithm>

namespace rondo {
namespace {

// Of the first region. Each further one is as long as all before it, because
// blocks never lie across two; pages exist once touched, so what is not needed
// of it costs nothing.
constexpr size_t kFirstRegion = size_t{64} << 20;

// Blocks begin at different places of a page: tensors whose rows all fell on
// the same lines of the cache would push each other out of it.
constexpr size_t kIndent = 320;
constexpr size_t kIndents = 12;
static_assert(kIndent * kIndents <= Arena::kPage && kIndent % 64 == 0);

}  // namespace

Arena::Region& Arena::add_region(size_t bytes) {
  size_t size = kFirstRegion;
  for (const Region& region : regions_) size += region.memory.bytes();
  auto memory = [](size_t n) {
    return Tensor::empty({static_cast<int64_t>(n)}, DType::kU8);
  };
  Region region;
  try {
    region.memory = memory(std::max(bytes, size));
  } catch (const Error&) {
    region.memory = memory(bytes);
  }
  region.blocks.push_back({0, region.memory.bytes(), true});
  regions_.push_back(std::move(region));
  return regions_.back();
}

void* Arena::allocate(size_t bytes) {
  const size_t indent = next_indent_++ % kIndents * kIndent;
  const size_t wanted =
      (std::max<size_t>(bytes, 1) + indent + kPage - 1) / kPage * kPage;
  Region* region = nullptr;
  size_t best = 0;
  for (Region& candidate : regions_)
    for (size_t i = 0; i < candidate.blocks.size(); ++i) {
      const Block& block = candidate.blocks[i];
      if (!block.free || block.bytes < wanted) continue;
      if (region && region->blocks[best].bytes <= block.bytes) continue;
      region = &candidate;
      best = i;
    }
  if (!region) {
    region = &add_region(wanted);
    best = 0;
  }
  Block& block = region->blocks[best];
  const Block rest{block.offset + wanted, block.bytes - wanted, true};
  block = {block.offset, wanted, false};
  void* const found = base(*region) + block.offset + indent;
  region->touched = std::max(region->touched, block.offset + wanted);
  if (rest.bytes > 0)
    region->blocks.insert(
        region->blocks.begin() + static_cast<ptrdiff_t>(best) + 1, rest);
  in_use_ += wanted;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return found;
}

void Arena::free(void* memory) {
  const auto region = std::ranges::find_if(regions_, [&](Region& r) {
    return memory >= base(r) && memory < base(r) + r.memory.bytes();
  });
  if (region == regions_.end()) return;
  auto& blocks = region->blocks;
  const auto offset =
      static_cast<size_t>(static_cast<char*>(memory) - base(*region));
  auto at = std::ranges::upper_bound(blocks, offset, {}, &Block::offset) - 1;
  in_use_ -= at->bytes;
  at->free = true;
  if (const auto next = at + 1; next != blocks.end() && next->free) {
    at->bytes += next->bytes;
    blocks.erase(next);
  }
  if (at != blocks.begin() && (at - 1)->free) {
    (at - 1)->bytes += at->bytes;
    blocks.erase(at);
  }
}

size_t Arena::touched() const {
  size_t bytes = 0;
  for (const Region& region : regions_) bytes += region.touched;
  return bytes;
}

}  // namespace rondo
