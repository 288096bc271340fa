// Reduce-scatter by the ring: in step s, 0 <= s < n-1, rank r sends part r-s-1
// to the next rank and receives part r-s-2 from the previous one (modulo n),
// adds its own input to it and passes it on in the next step. What arrives
// last, in step n-2, is part r.
//
// The input must stay as it is and the output has room for part r only, so the
// sums that are passed on lie in scratch: what arrives in step s in slot s.
// Long parts travel in segments which use the slots again: a block is stored
// when the last segment's has left. Where a segment is shorter than the last
// one its blocks are not the same, and a join stands before it instead.
#include <algorithm>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {
namespace {

// The ring over one segment of every part.
class SegmentRing {
 public:
  SegmentRing(int n, int rank, std::span<const int64_t> counts, int64_t segment)
      : n_(n),
        rank_(rank),
        parts_(parts_of(counts)),
        segment_(segment),
        slots_(n - 2) {
    for (int s = 0; s < n - 2; ++s) {
      int64_t size = std::min(segment, parts_[arriving(s)].count);
      slots_[s].place = {plan_.scratch, size};
      plan_.scratch += size;
    }
  }

  void append(int j) {
    if (j > 0 && shrinks(j)) {
      plan_.join();
      for (Slot& slot : slots_) slot.sent = -1;
    }
    int ready = -1;
    for (int s = 0; s < n_ - 1; ++s) {
      int sent = plan_.send(
          wrap(rank_ + 1, n_),
          s == 0 ? in_input(wrap(rank_ - 1, n_), j) : in_slot(s - 1, j), s,
          ready);
      if (s > 0) slots_[s - 1].sent = sent;
      bool last = s == n_ - 2;
      Range sum = last ? output_range(within(rank_, j)) : in_slot(s, j);
      ready =
          plan_.recv(wrap(rank_ - 1, n_), sum, s, last ? -1 : slots_[s].sent);
      ready = plan_.reduce(in_input(arriving(s), j), sum, s, ready);
    }
    plan_.finish(output_range(within(rank_, j)), n_ - 2, ready);
  }

  Plan take() { return std::move(plan_); }

 private:
  struct Slot {
    Part place;
    int sent = -1;  // the last action that sent from here
  };

  int arriving(int s) const { return wrap(rank_ - s - 2, n_); }

  // Segment j of part i, counted from the part's first element; empty behind
  // the part's end.
  Part within(int i, int j) const {
    int64_t offset = std::min(j * segment_, parts_[i].count);
    return {offset, std::min(segment_, parts_[i].count - offset)};
  }
  Range in_input(int i, int j) const {
    Part part = within(i, j);
    return input_range({parts_[i].offset + part.offset, part.count});
  }
  Range in_slot(int s, int j) const {
    return scratch_range(
        {slots_[s].place.offset, within(arriving(s), j).count});
  }
  bool shrinks(int j) const {
    for (int s = 0; s < n_ - 2; ++s) {
      int i = arriving(s);
      if (within(i, j).count != within(i, j - 1).count) return true;
    }
    return false;
  }

  int n_;
  int rank_;
  std::vector<Part> parts_;
  int64_t segment_;
  std::vector<Slot> slots_;
  Plan plan_;
};

}  // namespace

Plan ring_reduce_scatter(int n, int rank, std::span<const int64_t> counts,
                         int64_t scratch) {
  if (n == 1) return lone_allreduce(counts[0], /*in_place=*/false);
  int64_t segment = std::max<int64_t>(1, scratch / std::max(1, n - 2));
  int64_t longest = *std::max_element(counts.begin(), counts.end());
  SegmentRing ring(n, rank, counts, segment);
  // All ranks take as many turns as the longest part needs.
  int turns = static_cast<int>(segments_of(longest, segment).size());
  for (int j = 0; j < turns; ++j) ring.append(j);
  return ring.take();
}

}  // namespace rondo
