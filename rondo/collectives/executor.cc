#include "rondo/collectives/executor.h"

#include <algorithm>
#include <cstring>

#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x4f444e52;  // "RNDO"
// Messages of at most this many bytes go over a channel's stream 0.
constexpr size_t kShortBytes = 16 << 10;
// How long nothing has moved when a rank looks for what it waits for on other
// streams.
constexpr Duration kLookElsewhere = std::chrono::milliseconds(50);
// What a pass over the cursors costs, as Waiter::spin counts it.
constexpr int kPassCost = 20;
// What a cursor sends before the others have their turn. Without a limit a rank
// fills the socket before it reads, and nothing stays in the caches.
constexpr size_t kTurnBytes = 1 << 20;

// One thread adds, any may read.
void add(std::atomic<uint64_t>& counter, uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount,
                std::memory_order_relaxed);
}

}  // namespace

Executor::Executor(Group& group, size_t block_bytes)
    : group_(group),
      block_bytes_(block_bytes),
      sent_to_(static_cast<size_t>(group.size())),
      received_from_(static_cast<size_t>(group.size())) {}

// ---- The plan as blocks -----------------------------------------------------

int64_t Executor::count_of(int index) const {
  const Action& a = action(index);
  return a.kind == ActionKind::kSend ? a.src.count : a.dst.count;
}

// An empty message has one empty block: its header still travels.
int64_t Executor::blocks_of(int index) const {
  return std::max<int64_t>(
      1, (count_of(index) + block_elements_ - 1) / block_elements_);
}

size_t Executor::block_size(int index, int64_t block) const {
  return static_cast<size_t>(std::min(
             block_elements_, count_of(index) - block * block_elements_)) *
         element_;
}

char* Executor::place(const Range& range, int64_t block) const {
  const void* base = range.buffer == Buffer::kInput    ? call_->in
                     : range.buffer == Buffer::kOutput ? call_->out
                                                       : scratch_.data();
  // By numbers: a batch's ranges are addresses, counted from nullptr.
  return reinterpret_cast<char*>(
      reinterpret_cast<uintptr_t>(base) +
      static_cast<size_t>(range.offset + block * block_elements_) * element_);
}

bool Executor::ready(int index, int64_t block) const {
  const int after = action(index).after;
  if (after < 0) return true;
  return block_done_[first_block_[static_cast<size_t>(after)] +
                     static_cast<size_t>(block)] != 0;
}

void Executor::finish_block(int index, int64_t block) {
  block_done_[first_block_[static_cast<size_t>(index)] +
              static_cast<size_t>(block)] = 1;
  if (--blocks_left_[static_cast<size_t>(index)] == 0) {
    --left_before_limit_;
    open_joins();
  }
}

// Moves limit_ to behind the next join whenever all before it is finished.
void Executor::open_joins() {
  const int end = static_cast<int>(plan_->actions.size());
  while (left_before_limit_ == 0 && limit_ < end) {
    if (limit_ >= 0 && action(limit_).kind == ActionKind::kJoin) ++limit_;
    while (limit_ < end && action(limit_).kind != ActionKind::kJoin) {
      ++limit_;
      ++left_before_limit_;
    }
  }
}

size_t Executor::queue_of(int peer, bool sends) {
  for (size_t q = 0; q < queue_count_; ++q)
    if (queues_[q].peer == peer && queues_[q].sends == sends) return q;
  if (queue_count_ == queues_.size()) queues_.emplace_back();
  Queue& queue = queues_[queue_count_];
  queue.peer = peer;
  queue.sends = sends;
  queue.actions.clear();
  for (int stream = 0; stream < group_.channel(peer).streams(); ++stream) {
    if (cursor_count_ == cursors_.size()) cursors_.emplace_back();
    Cursor& cursor = cursors_[cursor_count_++];
    cursor.peer = peer;
    cursor.stream = stream;
    cursor.sends = sends;
    cursor.queue = queue_count_;
    cursor.position = 0;
    cursor.block = 0;
    cursor.header = cursor.done = cursor.reduced = 0;
  }
  return queue_count_++;
}

void Executor::prepare(const Plan& plan, const Call& call) {
  plan_ = &plan;
  call_ = &call;
  element_ = call.element();
  size_t block_bytes = block_bytes_;
  if (plan.block_bytes > 0)
    block_bytes = std::min(block_bytes, static_cast<size_t>(plan.block_bytes));
  block_elements_ =
      std::max<int64_t>(1, static_cast<int64_t>(block_bytes / element_));
  const size_t scratch = static_cast<size_t>(plan.scratch) * element_;
  if (scratch_.size() < scratch) scratch_.resize(scratch);
  queue_count_ = cursor_count_ = 0;
  local_actions_.clear();
  local_next_ = 0;
  const int n = static_cast<int>(plan.actions.size());
  first_block_.resize(plan.actions.size());
  blocks_left_.resize(plan.actions.size());
  size_t blocks = 0;
  for (int i = 0; i < n; ++i) {
    const ActionKind kind = action(i).kind;
    first_block_[static_cast<size_t>(i)] = blocks;
    blocks_left_[static_cast<size_t>(i)] = 0;
    if (kind == ActionKind::kJoin) continue;
    blocks_left_[static_cast<size_t>(i)] = blocks_of(i);
    blocks += static_cast<size_t>(blocks_of(i));
    if (is_message(kind))
      queues_[queue_of(action(i).peer, kind == ActionKind::kSend)]
          .actions.push_back(i);
    else
      local_actions_.push_back(i);
  }
  block_done_.assign(blocks, 0);
  for (size_t c = 0; c < cursor_count_; ++c)
    cursors_[c].block =
        first_block_on(cursors_[c], queues_[cursors_[c].queue].actions[0]);
  limit_ = 0;
  left_before_limit_ = 0;
  open_joins();
}

int64_t Executor::first_block_on(const Cursor& cursor, int index) const {
  const int streams = group_.channel(cursor.peer).streams();
  if (streams == 1) return 0;
  const bool brief =
      static_cast<size_t>(count_of(index)) * element_ <= kShortBytes;
  if (brief) return cursor.stream == 0 ? 0 : blocks_of(index);
  const bool unused = cursor.stream == 0 || cursor.stream > lanes(cursor);
  return unused ? blocks_of(index) : cursor.stream - 1;
}

int64_t Executor::lanes(const Cursor& cursor) const {
  if (plan_->in_order) return 1;
  return std::max(1, group_.channel(cursor.peer).streams() - 1);
}

void Executor::next_message(Cursor& cursor) {
  ++cursor.position;
  cursor.header = cursor.done = cursor.reduced = 0;
  const auto& actions = queues_[cursor.queue].actions;
  if (cursor.position < actions.size())
    cursor.block = first_block_on(cursor, actions[cursor.position]);
}

int Executor::current(const Cursor& cursor) const {
  const auto& actions = queues_[cursor.queue].actions;
  if (cursor.position >= actions.size()) return -1;
  const int index = actions[cursor.position];
  return index < limit_ ? index : -1;
}

uint64_t Executor::number_of(const Cursor& cursor) const {
  const auto& before = cursor.sends ? sent_to_ : received_from_;
  return before[static_cast<size_t>(cursor.peer)] + cursor.position;
}

// ---- Moving -----------------------------------------------------------------

Status Executor::run(const Plan& plan, const Call& call, Waiter& waiter) {
  prepare(plan, call);
  while (left_before_limit_ > 0) {
    bool moved = false;
    RONDO_RETURN_IF_ERROR(pass(moved));
    if (moved) {
      waiter.progressed();
      RONDO_RETURN_IF_ERROR(waiter.moving());
      continue;
    }
    if (left_before_limit_ == 0) break;
    if (waiter.spin(kPassCost)) continue;
    RONDO_RETURN_IF_ERROR(sleep(waiter));
  }
  for (size_t q = 0; q < queue_count_; ++q) {
    const Queue& queue = queues_[q];
    auto& numbers = queue.sends ? sent_to_ : received_from_;
    numbers[static_cast<size_t>(queue.peer)] += queue.actions.size();
  }
  return {};
}

Status Executor::pass(bool& moved) {
  RONDO_RETURN_IF_ERROR(run_local(moved));
  for (size_t i = 0; i < cursor_count_; ++i)
    RONDO_RETURN_IF_ERROR(advance(cursors_[i], moved));
  return {};
}

// Copies and reductions are done as soon as they may be, in order of the list
// as far as it has come; their blocks may wait for messages.
Status Executor::run_local(bool& moved) {
  for (size_t i = local_next_; i < local_actions_.size(); ++i) {
    const int index = local_actions_[i];
    if (index >= limit_) break;
    const Action& a = action(index);
    const int64_t blocks = blocks_of(index);
    for (int64_t b = 0;
         b < blocks && blocks_left_[static_cast<size_t>(index)] > 0; ++b) {
      if (block_done_[first_block_[static_cast<size_t>(index)] +
                      static_cast<size_t>(b)] != 0 ||
          !ready(index, b))
        continue;
      const size_t bytes = block_size(index, b);
      const auto count = static_cast<int64_t>(bytes / element_);
      char* dst = place(a.dst, b);
      if (bytes > 0) {
        if (a.kind == ActionKind::kCopy) {
          const char* src = place(a.src, b);
          if (src != dst) std::memmove(dst, src, bytes);
        } else if (a.kind == ActionKind::kReduce) {
          RONDO_RETURN_IF_ERROR(combine(*call_, dst, place(a.src, b), count));
        } else if (call_->op == ReduceOp::kAvg) {
          finish_avg(call_->dtype, dst, static_cast<size_t>(count),
                     group_.size());
        }
      }
      finish_block(index, b);
      moved = true;
    }
    if (i == local_next_ && blocks_left_[static_cast<size_t>(index)] == 0)
      ++local_next_;
  }
  return {};
}

Status Executor::advance(Cursor& cursor, bool& moved) {
  for (size_t sent = 0; sent < kTurnBytes;) {
    const int index = current(cursor);
    if (index < 0) return {};
    // Without a block of this message on this stream: on to the next.
    if (cursor.block < blocks_of(index)) {
      if (!ready(index, cursor.block)) return {};
      bool blocked = false;
      const size_t header = cursor.header;
      RONDO_RETURN_IF_ERROR(cursor.sends ? move_send(cursor, index, blocked)
                                         : move_recv(cursor, index, blocked));
      moved = moved || !blocked || cursor.header != header;
      if (blocked) return {};
      if (cursor.done < block_size(index, cursor.block)) continue;
      if (cursor.sends) sent += block_size(index, cursor.block);
      finish_block(index, cursor.block);
      cursor.block += lanes(cursor);
      cursor.done = cursor.reduced = 0;
      if (cursor.block < blocks_of(index)) continue;
      Channel& channel = group_.channel(cursor.peer);
      if (cursor.sends)
        channel.end_send(cursor.stream);
      else
        channel.end_recv(cursor.stream);
    }
    next_message(cursor);
  }
  return {};
}

OpTag Executor::tag_of(int index) const {
  if (call_->operation != Operation::kMessage) return call_->tag;
  const Transfer& transfer =
      call_->transfers[static_cast<size_t>(action(index).step)];
  OpTag tag = call_->tag;
  tag.count = transfer.count;
  tag.dtype = static_cast<uint8_t>(transfer.dtype);
  return tag;
}

Status Executor::move_send(Cursor& cursor, int index, bool& blocked) {
  const bool first = cursor.block == 0;
  Header header;
  iovec pieces[2];
  size_t n = 0;
  if (first && cursor.header < sizeof header) {
    header.magic = kMagic;
    header.group = group_.id();
    header.tag = tag_of(index);
    header.count = count_of(index);
    header.number = number_of(cursor);
    pieces[n++] = {reinterpret_cast<char*>(&header) + cursor.header,
                   sizeof header - cursor.header};
  }
  const size_t payload = block_size(index, cursor.block) - cursor.done;
  if (payload > 0)
    pieces[n++] = {place(action(index).src, cursor.block) + cursor.done,
                   payload};
  if (n == 0) return {};
  const ssize_t sent =
      group_.channel(cursor.peer).send(cursor.stream, {pieces, n});
  if (sent < 0)
    return group_.broken(call_->tag, cursor.peer,
                         group_.channel(cursor.peer).failure());
  if (sent == 0) {
    blocked = true;
    return {};
  }
  auto bytes = static_cast<size_t>(sent);
  if (first && cursor.header < sizeof header) {
    const size_t h = std::min(bytes, sizeof header - cursor.header);
    cursor.header += h;
    bytes -= h;
    if (cursor.header == sizeof header) add(messages_sent_, 1);
  }
  cursor.done += bytes;
  add(bytes_sent_, bytes);
  // A header without its payload is not the end of an empty block.
  blocked = first && cursor.header < sizeof header;
  return {};
}

Status Executor::move_recv(Cursor& cursor, int index, bool& blocked) {
  Channel& channel = group_.channel(cursor.peer);
  const bool first = cursor.block == 0;
  const Action& a = action(index);
  const size_t size = block_size(index, cursor.block);
  const bool reduces = a.kind == ActionKind::kRecvReduce;
  const bool headless = !first || cursor.header == sizeof(Header);
  if (headless && reduces && channel.can_peek())
    return reduce_from_memory(cursor, place(a.dst, cursor.block),
                              size - cursor.done, blocked);
  iovec pieces[2];
  size_t n = 0;
  if (!headless)
    pieces[n++] = {reinterpret_cast<char*>(&cursor.incoming) + cursor.header,
                   sizeof(Header) - cursor.header};
  // Through memory the header comes alone: its payload is reduced in place.
  if (size > cursor.done && !(reduces && channel.can_peek())) {
    char* to = place(a.dst, cursor.block);
    if (reduces) {
      if (cursor.arrived.size() < block_bytes_)
        cursor.arrived.resize(block_bytes_);
      to = cursor.arrived.data();
    }
    pieces[n++] = {to + cursor.done, size - cursor.done};
  }
  if (n == 0) return {};
  const ssize_t got = channel.recv(cursor.stream, {pieces, n});
  if (got < 0) {
    if (!headless) {
      RONDO_RETURN_IF_ERROR(wait_elsewhere(cursor, index));
    }
    return group_.broken(call_->tag, cursor.peer, channel.failure());
  }
  if (got == 0) {
    blocked = true;
    return {};
  }
  auto bytes = static_cast<size_t>(got);
  if (!headless) {
    const size_t h = std::min(bytes, sizeof(Header) - cursor.header);
    cursor.header += h;
    bytes -= h;
    if (cursor.header < sizeof(Header)) {
      blocked = true;
      return {};
    }
    RONDO_RETURN_IF_ERROR(check_header(cursor, index));
  }
  cursor.done += bytes;
  add(bytes_received_, bytes);
  if (reduces && cursor.done > cursor.reduced) {
    const size_t whole = cursor.done / element_ * element_;
    RONDO_RETURN_IF_ERROR(
        combine(*call_, place(a.dst, cursor.block) + cursor.reduced,
                cursor.arrived.data() + cursor.reduced,
                static_cast<int64_t>((whole - cursor.reduced) / element_)));
    cursor.reduced = whole;
  }
  return {};
}

// Reduces what lies in the channel's ring from where it lies. Payloads start on
// a cache line and the ring's size is a multiple of one, so no element is cut.
Status Executor::reduce_from_memory(Cursor& cursor, char* dst, size_t left,
                                    bool& blocked) {
  if (left == 0) return {};
  Channel& channel = group_.channel(cursor.peer);
  const auto here = channel.peek(cursor.stream);
  const size_t bytes = std::min(left, here.size()) / element_ * element_;
  if (bytes == 0) {
    blocked = true;
    return {};
  }
  RONDO_RETURN_IF_ERROR(combine(*call_, dst + cursor.done, here.data(),
                                static_cast<int64_t>(bytes / element_)));
  channel.consume(cursor.stream, bytes);
  cursor.done += bytes;
  add(bytes_received_, bytes);
  return {};
}

// ---- Trouble and patience ---------------------------------------------------

Status Executor::check_header(const Cursor& cursor, int index) {
  const Header& header = cursor.incoming;
  if (header.magic == kMagic && header.group == group_.id() &&
      header.tag == tag_of(index) && header.count == count_of(index) &&
      header.number == number_of(cursor))
    return {};
  if (header.magic != kMagic || header.group != group_.id())
    return group_.fail(error(Code::kInternal,
                             "{} on communicator {}: the stream from {} is out "
                             "of step",
                             short_name(call_->tag), group_.name(),
                             group_.describe(cursor.peer)));
  // The message that should have come first went over another stream.
  if (header.number > number_of(cursor)) {
    RONDO_RETURN_IF_ERROR(wait_elsewhere(cursor, index));
  }
  return disagree(cursor, index, header);
}

// Fails the group because of the header of a message that came, or lies, where
// that of action `index` should.
Status Executor::disagree(const Cursor& cursor, int index,
                          const Header& header) {
  const OpTag expected = tag_of(index);
  if (header.tag != expected)
    return group_.mismatch(expected, cursor.peer, header.tag);
  // The same call, but not the same counts for each rank; or a later message of
  // the same kind.
  return group_.fail(error(
      Code::kMismatch,
      "{} on communicator {}: rank {} expects a message of {} elements from "
      "{}, which sends {}{}\n  do: give every rank the same counts, and take "
      "messages in the order in which they are sent",
      short_name(expected), group_.name(), group_.rank(), count_of(index),
      group_.describe(cursor.peer), header.count,
      header.number == number_of(cursor) ? "" : " after another message"));
}

// A message that is shorter or longer than this rank expects may have come over
// another stream than it looks at. Messages begin on stream 0 or 1, depending
// on their length, and their numbers tell which is the one.
Status Executor::look_elsewhere(const Cursor& cursor, int index) {
  Channel& channel = group_.channel(cursor.peer);
  const bool begins = !cursor.sends && cursor.block == 0;
  if (!begins || channel.streams() == 1) return {};
  // A queue's cursors lie side by side. One that is at a message looks itself.
  const Cursor& other = *(&cursor + (cursor.stream == 0 ? 1 : -1));
  const int theirs = current(other);
  if (theirs >= 0 && other.block < blocks_of(theirs)) return {};
  Header header;
  if (!channel.preview(other.stream,
                       {reinterpret_cast<char*>(&header), sizeof header}) ||
      header.magic != kMagic || header.group != group_.id() ||
      header.number != number_of(cursor))
    return {};
  return disagree(cursor, index, header);
}

// The same, while what was sent earlier may still be under way.
Status Executor::wait_elsewhere(const Cursor& cursor, int index) {
  if (group_.channel(cursor.peer).streams() == 1) return {};
  for (const Deadline patience(seconds(0.5));
       !patience.passed() && !group_.failed(); poll(nullptr, 0, 2))
    RONDO_RETURN_IF_ERROR(look_elsewhere(cursor, index));
  return {};
}

Status Executor::sleep(Waiter& waiter) {
  fds_.clear();
  waiting_on_.clear();
  bool memory = false;
  int gone = -1;
  for (size_t i = 0; i < cursor_count_; ++i) {
    const Cursor& cursor = cursors_[i];
    const int index = current(cursor);
    if (index < 0 || cursor.block >= blocks_of(index) ||
        !ready(index, cursor.block))
      continue;
    if (waiter.stalled() >= kLookElsewhere || group_.left(cursor.peer))
      RONDO_RETURN_IF_ERROR(look_elsewhere(cursor, index));
    const Channel& channel = group_.channel(cursor.peer);
    const bool in_kernel = cursor.sends
                               ? channel.poll_for_send(cursor.stream, fds_)
                               : channel.poll_for_recv(cursor.stream, fds_);
    memory = memory || !in_kernel;
    waiting_on_.push_back(cursor.peer);
    // A socket tells of its own end, behind the last byte. In memory the peer's
    // goodbye comes behind the last byte too. A socket that has not arrived yet
    // may have been overtaken by the goodbye, so it has a moment.
    if (group_.left(cursor.peer) &&
        !channel.reports_close(cursor.stream, cursor.sends) &&
        (!in_kernel || waiter.stalled() > seconds(0.5)))
      gone = cursor.peer;
  }
  RONDO_RETURN_IF_ERROR(waiter.check(waiting_on_));
  if (gone >= 0) {
    bool moved = false;  // what it sent before it left still counts
    RONDO_RETURN_IF_ERROR(pass(moved));
    if (moved) return {};
    return group_.deserted(call_->tag, gone);
  }
  if (memory && fds_.empty()) {
    Doorbell& bell = group_.doorbell();
    const uint32_t ticket = bell.prepare();
    bool moved = false;
    Status status = pass(moved);
    if (moved || !status.ok()) {
      bell.dismiss();
      if (moved) waiter.progressed();
      return status;
    }
    bell.sleep(ticket, waiter.nap());
    return {};
  }
  fds_.push_back({group_.event_fd(), POLLIN, 0});
  // With both kinds of channels nothing wakes a poll for those in memory.
  const auto nap =
      memory
          ? std::chrono::milliseconds(1)
          : std::chrono::duration_cast<std::chrono::milliseconds>(waiter.nap());
  poll(fds_.data(), fds_.size(), static_cast<int>(nap.count()));
  if (fds_.back().revents != 0) group_.clear_event();
  return {};
}

}  // namespace rondo
