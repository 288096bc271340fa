// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011): random words as a function of a key and a counter, so
// that any part of a sequence can be made on its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rondo {

// Which sequence: the key stands for the seed, the run for how often the node
// has run before.
struct RandomStream {
  uint64_t key = 0;
  uint64_t run = 0;
};

// Every bit of x counts for every bit of the result (the end of SplitMix64).
inline uint64_t mix_bits(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
// The key of an operation with these attributes "seed" and "seed2".
inline uint64_t random_key(uint64_t seed, uint64_t seed2) {
  return mix_bits(mix_bits(seed) + seed2);
}

namespace philox {

inline constexpr uint32_t kMultiplier0 = 0xD2511F53;
inline constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kWeyl0 = 0x9E3779B9;
inline constexpr uint32_t kWeyl1 = 0xBB67AE85;
inline constexpr int kRounds = 10;

using Block = std::array<uint32_t, 4>;

inline Block block(Block counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t p1 = uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key0,
               static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key1,
               static_cast<uint32_t>(p0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

}  // namespace philox

// Block `number` of a stream.
inline philox::Block random_block(const RandomStream& stream, uint64_t number) {
  return philox::block(
      {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32),
       static_cast<uint32_t>(stream.run),
       static_cast<uint32_t>(stream.run >> 32)},
      static_cast<uint32_t>(stream.key),
      static_cast<uint32_t>(stream.key >> 32));
}

// An integer of [0, range) from block `number`; 128 random bits make any bias
// too small to be found. A range of 0 stands for 2^64.
inline uint64_t random_below(const RandomStream& stream, uint64_t number,
                             uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  const philox::Block b = random_block(stream, number);
  const uint64_t high = uint64_t{b[1]} << 32 | b[0];
  const uint64_t low = uint64_t{b[3]} << 32 | b[2];
  if (range == 0) return high;
  const Wide carry = (Wide{low} * range) >> 64;
  return static_cast<uint64_t>((Wide{high} * range + carry) >> 64);
}

// A number of [0, 1) from block `number`.
inline double random_unit(const RandomStream& stream, uint64_t number) {
  const philox::Block b = random_block(stream, number);
  return static_cast<double>((uint64_t{b[1]} << 32 | b[0]) >> 11) * 0x1p-53;
}

}  // namespace rondo
