// What travels between a TcpStoreServer and its clients after the handshake.
//
// A client sends one request and waits for its reply before it sends the next.
// All integers are little-endian.
//
//   Request: u32 operation, u32 key size, u64 value size, u64 argument,
//            key, value
//   Reply:   u32 outcome, u32 reserved, u64 number, u64 value size, value
//
//   operation  argument              reply
//   set        0                     -
//   get        patience in ms        the value; kNotSet when patience ends
//   first add        the amount            number: the counter's new value
//   remove     0                     -
//
// With outcome kBadRequest the value is a text that says why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rondo/rendezvous/store_rules.h"

namespace rondo::store_wire {

enum class Operation : uint32_t { kSet = 1, kGet = 2, kAdd = 3, kRemove = 4 };
enum class Outcome : uint32_t { kOk = 0, kNotSet = 1, kBadRequest = 2 };

inline constexpr size_t kHeaderSize = 24;
using Header = std::array<char, kHeaderSize>;

struct Request {
  Operation operation = Operation::kSet;
  uint32_t key_size = 0;
  uint64_t value_size = 0;
  uint64_t argument = 0;
};

struct Reply {
  Outcome outcome{};
  uint64_t number = 0;
  uint64_t value_size = 0;
};

inline void put(char* at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

inline uint64_t take(const char* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(at[i]))
             << (8 * i);
  return value;
}

inline Header encode(const Request& r) {
  Header h;
  put(h.data(), static_cast<uint32_t>(r.operation), 4);
  put(h.data() + 4, r.key_size, 4);
  put(h.data() + 8, r.value_size, 8);
  put(h.data() + 16, r.argument, 8);
  return h;
}

inline Header encode(const Reply& r) {
  Header h;
  put(h.data(), static_cast<uint32_t>(r.outcome), 4);
  put(h.data() + 4, 0, 4);
  put(h.data() + 8, r.number, 8);
  put(h.data() + 16, r.value_size, 8);
  return h;
}

inline Request decode_request(const char* h) {
  return {static_cast<Operation>(take(h, 4)),
          static_cast<uint32_t>(take(h + 4, 4)), take(h + 8, 8),
          take(h + 16, 8)};
}

inline Reply decode_reply(const char* h) {
  return {static_cast<Outcome>(take(h, 4)), take(h + 8, 8), take(h + 16, 8)};
}

// Whether a server may go on reading: looked at before anything is allocated.
inline bool plausible(const Request& r) {
  const auto op = static_cast<uint32_t>(r.operation);
  const bool has_value = r.operation == Operation::kSet;
  return op >= 1 && op <= 4 && r.key_size >= 1 && r.key_size <= kMaxKeySize &&
         r.value_size <= (has_value ? kMaxValueSize : 0);
}

}  // namespace rondo::store_wire
