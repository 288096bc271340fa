#include "rondo/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#include "rondo/base/crc32c_hardware.h"

namespace rondo {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // bits reversed

using Table = std::array<std::array<uint32_t, 256>, 8>;

// kTable[k][b]: what byte b does to the checksum when k bytes follow it.
constexpr Table make_table() {
  Table table{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    table[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b)
      table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xFF];
  return table;
}
constexpr Table kTable = make_table();

}  // namespace

uint32_t table_crc32c(const unsigned char* at, size_t bytes, uint32_t crc) {
  static_assert(std::endian::native == std::endian::little);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k)
      crc ^= kTable[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; bytes > 0; --bytes, ++at)
    crc = (crc >> 8) ^ kTable[0][(crc ^ *at) & 0xFF];
  return crc;
}

uint32_t crc32c(const void* data, size_t bytes, uint32_t before) {
  static const Crc32cLoop loop =
      hardware_crc32c() ? hardware_crc32c() : table_crc32c;
  return ~loop(static_cast<const unsigned char*>(data), bytes, ~before);
}

}  // namespace rondo
