#include "rondo/ps/shards.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo {
namespace {

constexpr int64_t kCutBytes = 64;
// A key that is shorter than this share of what a server gets is not divided,
// nor is one of fewer bytes than kWholeBytes where there is much more.
constexpr int64_t kWholeShare = 100;
constexpr int64_t kWholeBytes = 64 << 10;

int64_t bytes_of(const Key& key) {
  return key.shape.count() * static_cast<int64_t>(size_of(key.dtype));
}

// The elements between which the key is cut are multiples of this.
int64_t grain_of(const Key& key) {
  if (key.by_rows) return key.width();
  return std::max<int64_t>(
      1, kCutBytes / static_cast<int64_t>(size_of(key.dtype)));
}

// Divides keys while it knows what each server has.
class Splitter {
 public:
  Splitter(int64_t total, const ShardOptions& options)
      : options_(options),
        target_(total / options.servers),
        load_(static_cast<size_t>(options.servers)) {}

  std::vector<KeyPart> whole(const Key& key) {
    const auto least = std::min_element(load_.begin(), load_.end());
    const auto server = static_cast<int>(least - load_.begin());
    *least += bytes_of(key);
    std::vector<KeyPart> parts;
    add(key, server, 0, key.shape.count(), parts);
    return parts;
  }

  // In proportion to what each server lacks of its share.
  std::vector<KeyPart> divided(const Key& key) {
    const int64_t grain = grain_of(key);
    const auto size = static_cast<int64_t>(size_of(key.dtype));
    std::vector<int64_t> lacks;
    for (const int64_t has : load_)
      lacks.push_back(std::max<int64_t>(0, target_ - has));
    int64_t left = std::accumulate(lacks.begin(), lacks.end(), int64_t{0});
    if (left == 0) return whole(key);
    std::vector<KeyPart> parts;
    int64_t begin = 0;
    const int64_t count = key.shape.count();
    for (size_t s = 0; s < lacks.size() && begin < count; ++s) {
      const double share =
          static_cast<double>(lacks[s]) / static_cast<double>(left);
      const int64_t grains = std::llround(static_cast<double>(count - begin) /
                                          static_cast<double>(grain) * share);
      left -= lacks[s];
      int64_t end = std::min(count, begin + grains * grain);
      if (left == 0) end = count;
      add(key, static_cast<int>(s), begin, end, parts);
      load_[s] += (end - begin) * size;
      begin = end;
    }
    return parts;
  }

 private:
  void add(const Key& key, int server, int64_t begin, int64_t end,
           std::vector<KeyPart>& parts) const {
    const int64_t most = std::max<int64_t>(
        grain_of(key),
        static_cast<int64_t>(options_.most_part_bytes / size_of(key.dtype)) /
            grain_of(key) * grain_of(key));
    // A key without elements has a part without elements.
    do {
      const int64_t cut = key.by_rows ? end : std::min(end, begin + most);
      if (begin < cut || key.shape.count() == 0)
        parts.push_back({server, begin, cut});
      begin = cut;
    } while (begin < end);
  }

  const ShardOptions& options_;
  const int64_t target_;
  std::vector<int64_t> load_;
};

}  // namespace

std::vector<std::vector<KeyPart>> split_keys(std::span<const Key> keys,
                                             const ShardOptions& options) {
  int64_t total = 0;
  for (const Key& key : keys) total += bytes_of(key);
  Splitter splitter(total, options);
  const int64_t small =
      std::min(kWholeBytes, total / options.servers / kWholeShare);
  // Short keys first: those that are cut make up for what they leave uneven;
  // and rows before elements, since those cuts are the finer ones.
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto rank = [&](size_t i) {
    if (options.servers == 1 || bytes_of(keys[i]) <= small) return 0;
    return keys[i].by_rows ? 1 : 2;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  std::vector<std::vector<KeyPart>> made(keys.size());
  for (const size_t i : order)
    made[i] =
        rank(i) == 0 ? splitter.whole(keys[i]) : splitter.divided(keys[i]);
  return made;
}

}  // namespace rondo
