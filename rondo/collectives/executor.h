// Executor: runs the message actions of a plan over the group's channels.
//
// A message travels as a header and then its blocks. A short one uses stream 0
// of the channel; the blocks of a long one take turns on the other streams,
// where there are any. So both ends know where each block is without being
// told. Messages are numbered per peer and direction, so that one that is
// longer or shorter than its receiver expects is found on the stream where it
// lies, and not taken for another. A *cursor* is the place up to which one
// stream of one peer in one direction has come: it walks the messages of the
// plan in order, and within a message the blocks of its stream. The executor
// moves every cursor as far as it goes, again and again, until all actions are
// finished; in between it waits for whichever cursor can go on first.
//
// Used by one operation at a time; keeps its memory between operations.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "rondo/collectives/call.h"
#include "rondo/collectives/group.h"
#include "rondo/collectives/plan.h"
#include "rondo/collectives/waiter.h"

namespace rondo {

class Executor {
 public:
  Executor(Group& group, size_t block_bytes);

  Status run(const Plan& plan, const Call& call, Waiter& waiter);
  // From any thread.
  Traffic traffic() const {
    return {bytes_sent_.load(std::memory_order_relaxed),
            bytes_received_.load(std::memory_order_relaxed),
            messages_sent_.load(std::memory_order_relaxed)};
  }

 private:
  // What opens every message. Its size keeps payloads aligned in the rings.
  struct Header {
    uint32_t magic = 0;
    uint32_t reserved = 0;
    uint64_t group = 0;
    OpTag tag;
    int64_t count = 0;    // elements of this message
    uint64_t number = 0;  // of all messages to this peer, from 0
    uint64_t padding = 0;
  };
  static_assert(sizeof(Header) == 64);

  struct Cursor {
    int peer = 0;
    int stream = 0;
    bool sends = false;
    size_t queue = 0;     // which of queues_
    size_t position = 0;  // in that queue: the message it is at
    int64_t block = 0;    // of that message
    size_t header = 0;    // bytes of the header done
    size_t done = 0;      // payload bytes of the block done
    size_t reduced = 0;   // of these, bytes reduced
    Header incoming;
    std::vector<char> arrived;  // a block that is to be reduced
  };

  void prepare(const Plan& plan, const Call& call);
  size_t queue_of(int peer, bool sends);
  Status pass(bool& moved);
  Status run_local(bool& moved);
  Status advance(Cursor& cursor, bool& moved);
  Status move_send(Cursor& cursor, int action, bool& blocked);
  Status move_recv(Cursor& cursor, int action, bool& blocked);
  Status reduce_from_memory(Cursor& cursor, char* dst, size_t left,
                            bool& blocked);
  Status check_header(const Cursor& cursor, int action);
  Status disagree(const Cursor& cursor, int action, const Header& header);
  Status look_elsewhere(const Cursor& cursor, int action);
  Status wait_elsewhere(const Cursor& cursor, int action);
  Status sleep(Waiter& waiter);
  OpTag tag_of(int action) const;

  const Action& action(int index) const {
    return plan_->actions[static_cast<size_t>(index)];
  }
  int64_t count_of(int index) const;
  int64_t blocks_of(int index) const;
  size_t block_size(int index, int64_t block) const;
  char* place(const Range& range, int64_t block) const;
  bool ready(int index, int64_t block) const;
  void finish_block(int index, int64_t block);
  void open_joins();
  // Streams that the blocks of a long message take in turn.
  int64_t lanes(const Cursor& cursor) const;
  // The first block of a message on the cursor's stream; without one:
  // blocks_of(index).
  int64_t first_block_on(const Cursor& cursor, int index) const;
  void next_message(Cursor& cursor);
  // The message a cursor is at, or -1 when it has none that may run.
  int current(const Cursor& cursor) const;
  // The number of the message that a cursor is at.
  uint64_t number_of(const Cursor& cursor) const;

  Group& group_;
  const size_t block_bytes_;

  const Plan* plan_ = nullptr;
  const Call* call_ = nullptr;
  size_t element_ = 1;
  int64_t block_elements_ = 1;
  std::vector<char> scratch_;
  struct Queue {
    int peer;
    bool sends;
    std::vector<int> actions;
  };
  std::vector<Queue> queues_;
  size_t queue_count_ = 0;
  std::vector<Cursor> cursors_;
  size_t cursor_count_ = 0;
  std::vector<int> local_actions_;
  size_t local_next_ = 0;
  std::vector<size_t> first_block_;  // of each action in block_done_
  std::vector<char> block_done_;
  std::vector<int64_t> blocks_left_;  // of each action
  int limit_ = 0;                     // actions below this may run
  int64_t left_before_limit_ = 0;     // unfinished actions among them
  std::vector<uint64_t> sent_to_;  // messages of all operations before, by peer
  std::vector<uint64_t> received_from_;
  std::vector<pollfd> fds_;
  std::vector<int> waiting_on_;
  std::atomic<uint64_t> bytes_sent_{0};
  std::atomic<uint64_t> bytes_received_{0};
  std::atomic<uint64_t> messages_sent_{0};
};

}  // namespace rondo
