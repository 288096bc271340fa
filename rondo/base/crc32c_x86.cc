#include <nmmintrin.h>

#include <cstring>

#include "rondo/base/crc32c_hardware.h"

namespace rondo {
namespace {

__attribute__((target("sse4.2"))) uint32_t run(const unsigned char* at,
                                               size_t bytes, uint32_t crc) {
  uint64_t wide = crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; bytes > 0; --bytes, ++at) crc = _mm_crc32_u8(crc, *at);
  return crc;
}

}  // namespace

Crc32cLoop hardware_crc32c() {
  return __builtin_cpu_supports("sse4.2") ? run : nullptr;
}

}  // namespace rondo
