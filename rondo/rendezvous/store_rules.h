// What holds for the keys, values and counters of every store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

inline constexpr size_t kMaxKeySize = 4 << 10;
inline constexpr size_t kMaxValueSize = 16 << 20;

// A key has 1 to kMaxKeySize bytes.
Status check_key(std::string_view key);
// A value has at most kMaxValueSize bytes.
Status check_value(std::string_view key, std::string_view value);

// A counter is kept as its decimal text, so that get() shows it. Empty counts
// as 0; other text that is no whole number, and overflow, are errors.
Result<int64_t> add_to_counter(std::string_view key, std::string_view text,
                               int64_t amount);

// What get() says when the deadline passes.
Status key_timeout(std::string_view key, std::string_view store);

}  // namespace rondo
