// Butterfly: recursive halving, then recursive doubling, over the largest power
// of two p <= n; the n-p ranks beyond it are folded in before and out after.
//
// Fold: of the ranks below 2(n-p), each even one gives its whole vector to the
// odd one above it, and is idle until it gets the result. The ranks left have
// numbers v = 0..p-1, and the vector is cut into p parts.
//
// Halving: v starts with parts [0, p). In each step it is paired with v ^ d, d
// = p/2, p/4, ..., 1; the two have the same parts, the lower number keeps the
// lower half of them and sends the upper, and vice versa. After log2 p steps v
// holds part v, complete. Doubling walks back: d = 1, 2, ..., p/2, each sends
// all the complete parts that it has.
//
// A step's messages are not cut like the last one's, so a join stands between
// steps instead of an `after`.
//
// Recursive doubling is the butterfly for tiny vectors: the whole vector is
// exchanged in each of log2 p steps, half as many. See its function.
#include <algorithm>
#include <bit>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {
namespace {

// Who is who once the ranks beyond a power of two are folded in.
struct Fold {
  explicit Fold(int n)
      : p(static_cast<int>(std::bit_floor(static_cast<unsigned>(n)))),
        extra(n - p),
        levels(std::countr_zero(static_cast<unsigned>(p))) {}

  bool folds(int rank) const { return rank < 2 * extra; }
  bool idle(int rank) const { return folds(rank) && rank % 2 == 0; }
  int number_of(int rank) const {
    return folds(rank) ? rank / 2 : rank - extra;
  }
  int rank_of(int v) const { return v < extra ? 2 * v + 1 : v + extra; }

  int p;
  int extra;
  int levels;  // log2 p
};

Plan idle_plan(const AllreduceArgs& args, int last_step) {
  Plan plan;
  Part whole{0, args.count};
  plan.send(args.rank + 1, input_range(whole), 0);
  // In place this overwrites what is being sent, with what was made from it.
  plan.recv(args.rank + 1, output_range(whole), last_step);
  return plan;
}

}  // namespace

Plan butterfly_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  const Fold fold(args.n);
  const int first = fold.extra > 0 ? 1 : 0;  // the step of the first halving
  const int last_step = first + 2 * fold.levels;
  if (fold.idle(args.rank)) return idle_plan(args, last_step);

  const Part whole{0, args.count};
  const int v = fold.number_of(args.rank);
  // Parts [from, from + size) as one range.
  auto parts = [&](int from, int size) {
    int64_t begin = part_of(args.count, fold.p, from).offset;
    Part last = part_of(args.count, fold.p, from + size - 1);
    return Part{begin, last.offset + last.count - begin};
  };

  Plan plan;
  bool in_output = args.in_place;  // whether this rank's addend lies in kOutput
  if (fold.folds(args.rank)) {
    recv_and_add(plan, args.rank - 1, whole, args.in_place, 0);
    in_output = true;
    plan.join();
  }
  int ready = -1;
  for (int d = fold.p / 2, step = first; d >= 1; d /= 2, ++step) {
    int peer = fold.rank_of(v ^ d);
    int kept = v & ~(d - 1);
    int given = kept ^ d;
    if (step > first) plan.join();
    Part gift = parts(given, d);
    plan.send(peer, in_output ? output_range(gift) : input_range(gift), step);
    ready = recv_and_add(plan, peer, parts(kept, d), in_output, step);
    in_output = true;
  }
  // The first doubling needs no join: what it sends is what was just completed,
  // and what it overwrites has been made into what arrives.
  ready =
      plan.finish(output_range(parts(v, 1)), first + fold.levels - 1, ready);
  for (int d = 1, step = first + fold.levels; d < fold.p; d *= 2, ++step) {
    int peer = fold.rank_of(v ^ d);
    int own = v & ~(d - 1);
    if (d > 1) plan.join();
    plan.send(peer, output_range(parts(own, d)), step, d == 1 ? ready : -1);
    plan.recv(peer, output_range(parts(own ^ d, d)), step);
  }
  if (fold.folds(args.rank)) {
    plan.join();
    plan.send(args.rank - 1, output_range(whole), last_step);
  }
  return plan;
}

// In step j the pair exchange their sums so far. A sum is never added to where
// it lies, since it may still be on its way to the peer: the peer's is stored
// in a new place and this rank's added there. The last place is the output.
Plan recursive_doubling_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  const Fold fold(args.n);
  const int first = fold.extra > 0 ? 1 : 0;
  const int last_step = first + fold.levels;
  // The first sum and one for each step but the last.
  const int64_t segment =
      std::max<int64_t>(1, args.scratch / (fold.levels + 1));

  Plan plan;
  for (Part part : segments_of(args.count, segment)) {
    const Range out = output_range(part);
    if (part.offset > 0) plan.join();  // the places are used again
    if (fold.idle(args.rank)) {
      plan.send(args.rank + 1, input_range(part), 0);
      plan.recv(args.rank + 1, out, last_step);
      continue;
    }
    int64_t used = 0;
    auto new_place = [&] {
      Range place = scratch_range({used, part.count});
      used += part.count;
      plan.scratch = std::max(plan.scratch, used);
      return place;
    };

    Range sum = input_range(part);
    int ready = -1;
    if (fold.folds(args.rank)) {
      sum = new_place();
      ready = plan.recv(args.rank - 1, sum, 0);
      ready = plan.reduce(input_range(part), sum, 0, ready);
    } else if (args.in_place) {
      sum = new_place();
      ready = plan.copy(input_range(part), sum, 0);
    }
    const int v = fold.number_of(args.rank);
    for (int d = 1, step = first; d < fold.p; d *= 2, ++step) {
      int peer = fold.rank_of(v ^ d);
      Range place = d * 2 < fold.p ? new_place() : out;
      plan.send(peer, sum, step, ready);
      // Not before `sum` is there, for the addition that follows needs both.
      int stored = plan.recv(peer, place, step, ready);
      ready = plan.reduce(sum, place, step, stored);
      sum = place;
    }
    ready = plan.finish(out, last_step - 1, ready);
    if (fold.folds(args.rank)) {
      plan.send(args.rank - 1, out, last_step, ready);
    }
  }
  return plan;
}

}  // namespace rondo
