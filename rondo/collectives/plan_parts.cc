#include "rondo/collectives/plan_parts.h"

#include <algorithm>

namespace rondo {

std::vector<Part> segments_of(int64_t count, int64_t size) {
  std::vector<Part> segments;
  int64_t offset = 0;
  do {
    segments.push_back({offset, std::min(size, count - offset)});
    offset += size;
  } while (offset < count);
  return segments;
}

std::vector<Part> parts_of(std::span<const int64_t> counts) {
  std::vector<Part> parts;
  int64_t offset = 0;
  for (int64_t count : counts) {
    parts.push_back({offset, count});
    offset += count;
  }
  return parts;
}

int recv_and_add(Plan& plan, int peer, Part part, bool in_place, int step) {
  if (in_place) return plan.recv_reduce(peer, output_range(part), step);
  int stored = plan.recv(peer, output_range(part), step);
  return plan.reduce(input_range(part), output_range(part), step, stored);
}

Plan lone_allreduce(int64_t count, bool in_place) {
  Plan plan;
  Part whole{0, count};
  int copied = -1;
  if (!in_place) {
    copied = plan.copy(input_range(whole), output_range(whole), 0);
  }
  plan.finish(output_range(whole), 0, copied);
  return plan;
}

}  // namespace rondo
