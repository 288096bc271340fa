// KeySlots: which of the keys that servers reduce alike an exchange takes.
//
// Exchanges of one kind, such as the mean of 1024 elements, can have the same
// key one after another, but not at once: a push that is sent again, to a
// server that was started again, would get the answer to the later one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rondo {

// Exchanges have numbers that grow. When one begins, all that are `window` or
// more before it are over. What it takes follows from the calls alone, so ranks
// that make the same calls choose alike.
class KeySlots {
 public:
  explicit KeySlots(int64_t window) : window_(window) {}

  // Which key of this kind the exchange takes, from 0: the first of which no
  // exchange may be under way.
  size_t take(const std::string& kind, int64_t number) {
    std::vector<int64_t>& last = last_[kind];
    const auto free = std::ranges::find_if(
        last, [&](int64_t used) { return used <= number - window_; });
    const auto slot = static_cast<size_t>(free - last.begin());
    if (free == last.end())
      last.push_back(number);
    else
      *free = number;
    return slot;
  }

 private:
  const int64_t window_;
  std::map<std::string, std::vector<int64_t>> last_;  // by kind and slot
};

}  // namespace rondo
