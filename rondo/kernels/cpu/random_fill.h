// Arrays of random numbers, vectorised.
//
// An array is made of chunks of kRandomChunk elements, and a chunk of blocks of
// the stream that are its own, so that chunks can be made in any order by any
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/kernels/cpu/philox.h"

namespace rondo {

enum class Distribution {
  kUniform,    // of [0, 1)
  kNormal,     // mean 0, standard deviation 1
  kTruncated,  // the same, within 2 standard deviations
};

inline constexpr size_t kRandomChunk = 256;

struct RandomFill {
  RandomStream stream;
  Distribution distribution = Distribution::kUniform;
  // x * scale + shift, and at most `limit`, is what is stored.
  double scale = 1;
  double shift = 0;
  double limit = 0;
};

// Elements [chunk * kRandomChunk, (chunk + 1) * kRandomChunk), all of them.
void fill_random_chunk(const RandomFill& fill, uint64_t chunk, float* out);
void fill_random_chunk(const RandomFill& fill, uint64_t chunk, double* out);

}  // namespace rondo
