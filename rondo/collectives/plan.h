// Plan: what one rank does in one collective operation, as data.
//
// Terms. A *rank* is a member of the communicator, 0..n-1. A *chunk* is a range
// of the vector that travels as one message (the ring cuts the vector into n of
// them). A *block* is a fixed number of bytes (ExecutorOptions::block_bytes): a
// message longer than a block travels, is reduced and is forwarded block by
// block, so that the next hop starts before a chunk has arrived as a whole. A
// *step* is one action or several that an algorithm thinks of as simultaneous;
// it is only a label.
//
// An algorithm is a function from (n, rank, count, ...) to a Plan. The executor
// runs plans; tests, the planner, the tracer and `rondo plan` read them. Both
// ends derive their plans from the same arguments, so nothing but data and a
// small header travels.
//
// Order. Actions start in list order per peer and direction: messages from rank
// a to rank b arrive in the order in which a's plan lists its sends, and b's
// plan must list the matching receives in the same order with the same sizes.
// Beyond that, actions run concurrently, except that
//   - an action with after = i touches block k of its range only when action i
//     has finished block k of its own. Action i comes earlier in the list and
//     has the same number of elements.
//   - everything behind a kJoin waits until all before it has finished.
// A plan must not write a range that an unfinished send reads, unless the data
// that arrives could only have been made from what was sent (the ring's
// allgather overwrites the chunk that its scatter-reduce sent on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// Which memory a range lies in. In place, kInput and kOutput are the same.
enum class Buffer : uint8_t {
  kInput,    // the caller's input
  kOutput,   // the caller's output
  kScratch,  // Plan::scratch elements that the executor provides
};

// `count` elements from element `offset` on.
struct Range {
  Buffer buffer = Buffer::kOutput;
  int64_t offset = 0;
  int64_t count = 0;
  bool operator==(const Range&) const = default;
};

enum class ActionKind : uint8_t {
  kSend,        // src travels to peer
  kRecv,        // a message of peer's is stored in dst
  kRecvReduce,  // dst = dst op message of peer's
  kCopy,        // dst = src, locally
  kReduce,      // dst = dst op src, locally
  kFinish,      // dst = dst / n if the operator is avg, else nothing
  kJoin,        // nothing behind this starts before all before it has finished
  // In memory that the ranks of one host share. Each is also a kJoin.
  kShare,        // show the others here my buffers; wait until all have
  kSliceReduce,  // dst of peer (-1: of all here) = op over src of all here
  kPull,         // dst = src of peer
  kFence,        // wait until all here have come this far
};

struct Action {
  ActionKind kind = ActionKind::kJoin;
  int peer = -1;          // kSend, kRecv, kRecvReduce, kSliceReduce, kPull
  Range src;              // kSend, kCopy, kReduce, kSliceReduce, kPull
  Range dst;              // kRecv, kRecvReduce, kCopy, kReduce, kFinish, ...
  int after = -1;         // index of an earlier action, or -1
  int step = 0;           // the algorithm's own count of steps, for readers
  bool finishes = false;  // kSliceReduce: also does what kFinish does
  bool operator==(const Action&) const = default;
};

struct Plan {
  std::vector<Action> actions;
  int64_t scratch = 0;  // elements of kScratch
  // Bytes of a block, where the algorithm wants smaller ones than the executor
  // has; 0: as the executor has them. The same on all ranks.
  int64_t block_bytes = 0;
  // Whether long messages take one of a channel's streams instead of all in
  // turn, so that blocks arrive in order. The same on all ranks.
  bool in_order = false;

  // Appends and returns the index of the new action.
  int send(int peer, Range src, int step, int after = -1);
  int recv(int peer, Range dst, int step, int after = -1);
  int recv_reduce(int peer, Range dst, int step, int after = -1);
  int copy(Range src, Range dst, int step, int after = -1);
  int reduce(Range src, Range dst, int step, int after = -1);
  int finish(Range dst, int step, int after = -1);
  void join();
  void share(int step);
  void slice_reduce(int peer, Range src, Range dst, int step);
  void pull(int peer, Range src, Range dst, int step);
  void fence(int step);

  // Elements that this rank sends, and steps that its messages span.
  int64_t elements_sent() const;
  int steps() const;
  // One line per action: "step 0: send output[0,4) to 1".
  std::string to_string() const;

  bool operator==(const Plan&) const = default;
};

// Part `i` of [0, count) cut into `parts` nearly equal ranges: the first
// count % parts of them have one element more.
struct Part {
  int64_t offset = 0;
  int64_t count = 0;
};
Part part_of(int64_t count, int parts, int i);

std::string_view name_of(ActionKind kind);
// kSend, kRecv, kRecvReduce.
bool is_message(ActionKind kind);

}  // namespace rondo
