// Shards: which server keeps which part of which key.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rondo/ps/key.h"

namespace rondo {

struct ShardOptions {
  int servers = 1;
  // Parts of a key that is not by rows are no longer: a server works on one
  // while the next one travels.
  size_t most_part_bytes = size_t{4} << 20;
};

// The parts of each key, in the order of their elements. A function of its
// arguments alone, so workers agree without asking.
//
// A key is divided among all servers, so that also pulls of one key after
// another keep all of them busy; keys that are short against a server's share
// go whole to the server with the least. Servers' bytes differ by less than 5 %
// where cutting at 64 bytes, and between rows, allows it.
std::vector<std::vector<KeyPart>> split_keys(std::span<const Key> keys,
                                             const ShardOptions& options);

}  // namespace rondo
