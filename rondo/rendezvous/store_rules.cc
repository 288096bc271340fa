#include "rondo/rendezvous/store_rules.h"

#include <charconv>

namespace rondo {

Status check_key(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxKeySize) return {};
  return error(Code::kInvalidArgument,
               "a store's key has 1 to {} bytes, this one {}", kMaxKeySize,
               key.size());
}

Status check_value(std::string_view key, std::string_view value) {
  if (value.size() <= kMaxValueSize) return {};
  return error(Code::kInvalidArgument,
               "the value of key \"{}\" has {} bytes and a store takes at most "
               "{}: stores are for addresses, send data with a collective",
               key, value.size(), kMaxValueSize);
}

Result<int64_t> add_to_counter(std::string_view key, std::string_view text,
                               int64_t amount) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  if (!text.empty()) {
    auto [rest, ec] = std::from_chars(text.data(), end, value);
    if (ec != std::errc() || rest != end)
      return error(Code::kInvalidArgument,
                   "key \"{}\" holds text that is not a counter", key);
  }
  if (__builtin_add_overflow(value, amount, &value))
    return error(Code::kInvalidArgument,
                 "counter \"{}\" does not fit 64 bits any more", key);
  return value;
}

Status key_timeout(std::string_view key, std::string_view store) {
  return error(Code::kTimeout,
               "nobody has set key \"{}\" in the store {} in time", key, store);
}

}  // namespace rondo
