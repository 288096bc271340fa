// The ring: the vector is cut into n chunks, and every rank only ever sends to
// the next rank and receives from the previous one.
//
// Scatter-reduce: in step s, 0 <= s < n-1, rank r sends chunk r-s and adds the
// chunk r-s-1 that arrives to its own (all modulo n). What arrives in step s is
// what is sent in step s+1, one contribution richer, so chunk c starts on rank
// c and is complete on rank c-1 after n-1 steps: rank r holds chunk r+1.
//
// Allgather: in step t, 0 <= t < n-1, rank r sends the complete chunk r+1-t and
// stores chunk r-t. After n-1 steps it has received all chunks but its own.
//
// Every send but the first is `after` what it passes on, so a chunk's blocks
// travel on while its later blocks are still arriving. Chunk r-t, which the
// allgather overwrites in step t, was sent in step t of the scatter-reduce;
// what overwrites it has been made from that, so no send is disturbed.
#include "rondo/collectives/ring.h"

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan ring_over(const RingPlace& place, Part whole, bool in_place) {
  const int n = place.size;
  const int r = place.position;
  auto chunk = [&](int i) {
    Part part = part_of(whole.count, n, wrap(i, n));
    return Part{whole.offset + part.offset, part.count};
  };

  Plan plan;
  int arrived = -1;  // what the next send passes on
  for (int s = 0; s < n - 1; ++s) {
    Range own = s == 0 && !in_place ? input_range(chunk(r))
                                    : output_range(chunk(r - s));
    plan.send(place.next, own, s, arrived);
    arrived = recv_and_add(plan, place.previous, chunk(r - s - 1), in_place, s);
  }
  arrived = plan.finish(output_range(chunk(r + 1)), n - 2, arrived);
  for (int t = 0; t < n - 1; ++t) {
    int step = n - 1 + t;
    plan.send(place.next, output_range(chunk(r + 1 - t)), step, arrived);
    arrived = plan.recv(place.previous, output_range(chunk(r - t)), step);
  }
  return plan;
}

Plan ring_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  RingPlace place{args.n, args.rank, wrap(args.rank + 1, args.n),
                  wrap(args.rank - 1, args.n)};
  return ring_over(place, Part{0, args.count}, args.in_place);
}

}  // namespace rondo
