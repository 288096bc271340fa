// The allreduce algorithms, in one table: name, purpose, what each needs, what
// it costs. Selection is the cheapest possible one; a user can name any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan.h"

namespace rondo {

// The numbers travel in OpTag::algorithm.
enum class Algorithm : uint8_t {
  kNone = 0,
  kNaive = 1,
  kStar = 2,
  kTree = 3,
  kButterfly = 4,
  kRing = 5,
  kDirect = 6,
  kHierarchical = 7,
};

// What the costs are computed with, in seconds; `rondo tune` measures them.
struct Costs {
  double message = 20e-6;       // one message between two ranks, by TCP
  double overhead = 6e-6;       // a further message that is under way meanwhile
  double byte = 1 / 2.5e9;      // one byte sent and one received, by TCP
  double local_message = 3e-6;  // the same through shared memory
  double local_overhead = 0.3e-6;
  double local_byte = 1 / 4e9;
  double reduce_byte = 1 / 8e9;   // one byte of a message, reduced
  double direct = 1e-6;           // a meeting of all ranks of a host
  double direct_byte = 1 / 10e9;  // one byte of the vector, reduced in place

  // "name seconds" lines, as `rondo tune` writes them; # begins a comment.
  // `origin` is named in errors.
  static Result<Costs> parse(std::string_view text, std::string_view origin);
  static Result<Costs> read(const std::string& file);
  std::string to_string() const;
};

// What selection knows about a group.
struct Topology {
  int n = 1;
  int hosts = 1;
  int largest_host = 1;  // ranks on the fullest host
  int smallest_host = 1;
  double crowding = 1;  // ranks per core on the fullest host, at least 1
};

struct AlgorithmEntry {
  Algorithm id;
  std::string_view name;
  std::string_view purpose;
  // Why it cannot be used on this group; empty when it can.
  std::string_view (*obstacle)(const Topology& topology);
  // Predicted seconds for so many bytes.
  double (*cost)(const Topology& topology, const Costs& costs, double bytes);
  // The plan of one rank.
  Plan (*build)(const AllreduceArgs& args);
};

std::span<const AlgorithmEntry> allreduce_algorithms();
const AlgorithmEntry* find_algorithm(std::string_view name);
const AlgorithmEntry& algorithm_entry(Algorithm id);
std::string_view algorithm_name(uint8_t id);
// The cheapest possible algorithm.
const AlgorithmEntry& select_allreduce(const Topology& topology,
                                       const Costs& costs, int64_t bytes);

}  // namespace rondo
