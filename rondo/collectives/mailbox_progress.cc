// How a mailbox's messages move: what arrives meets what was posted.
#include <poll.h>
#include <sched.h>

#include <algorithm>

#include "rondo/collectives/mailbox_impl.h"

namespace rondo {

// ---- Matching ---------------------------------------------------------------

Status Mailbox::Impl::check_fit(const Message& message, int from,
                                const FrameHeader& header) {
  if (header.dtype == message.dtype && header.count == message.count) return {};
  return group_.fail(error(
      Code::kMismatch,
      "recv on communicator {} (tag {}): rank {} expects {} {}, and {} "
      "sends {} {}\n  do: give both the same dtype and number of elements",
      group_.name(), message.tag, group_.rank(), message.count,
      name_of(message.dtype), group_.describe(from), header.count,
      name_of(header.dtype)));
}

// Binds a receive to the message that came.
Status Mailbox::Impl::accept(const MessagePtr& message, int from,
                             const FrameHeader& header) {
  RONDO_RETURN_IF_ERROR(check_fit(*message, from, header));
  message->peer = from;
  message->begun = true;
  if (header.kind != FrameKind::kOffer) return {};
  FrameHeader answer = header;
  answer.kind = FrameKind::kAccept;
  peer(from).expected[header.id] = message;
  peer(from).line.push(answer, nullptr);
  return {};
}

Mailbox::Impl::MessagePtr Mailbox::Impl::take_posted(int from, int64_t tag) {
  const auto found =
      std::find_if(posted_.begin(), posted_.end(), [&](const MessagePtr& one) {
        return one->tag == tag &&
               (one->peer == kAnySource || one->peer == from);
      });
  if (found == posted_.end()) return nullptr;
  MessagePtr message = *found;
  posted_.erase(found);
  return message;
}

// Where the payload of a frame goes.
Result<void*> Mailbox::Impl::place(int from, const FrameHeader& header) {
  Peer& sender = peer(from);
  if (header.kind == FrameKind::kData) {
    const auto found = sender.expected.find(header.id);
    if (found == sender.expected.end() ||
        found->second->count != header.count ||
        found->second->dtype != header.dtype)
      return error(Code::kInternal, "a message came that was not accepted");
    return found->second->data;
  }
  if (header.bytes() > kEagerBytes)
    return error(Code::kInternal, "a long message came without an offer");
  if (MessagePtr message = take_posted(from, header.tag)) {
    RONDO_RETURN_IF_ERROR(accept(message, from, header));
    sender.arriving = message;
    return message->data;
  }
  sender.storing = std::make_unique<Unexpected>();
  sender.storing->payload.resize(header.bytes());
  return sender.storing->payload.data();
}

// A whole frame is there.
Status Mailbox::Impl::arrived(int from, const FrameHeader& header) {
  Peer& sender = peer(from);
  switch (header.kind) {
    case FrameKind::kEager:
      if (MessagePtr message = std::move(sender.arriving)) {
        sender.arriving = nullptr;
        finish(message, {});
        return {};
      }
      break;
    case FrameKind::kOffer: break;
    case FrameKind::kAccept: {
      const auto found = sender.offered.find(header.id);
      if (found == sender.offered.end()) return {};  // it was withdrawn
      const MessagePtr message = found->second;
      // Else it would decide how much of this rank's memory is sent.
      if (header.count != message->count || header.dtype != message->dtype)
        return error(Code::kInternal, "an offer was accepted as another one");
      sender.offered.erase(found);
      message->begun = true;
      FrameHeader answer = header;
      answer.kind = FrameKind::kData;
      sender.line.push(answer, message->data,
                       [this, message] { finish(message, {}); });
      return {};
    }
    case FrameKind::kData: {
      const auto found = sender.expected.find(header.id);
      const MessagePtr message = found->second;  // place() has seen it
      sender.expected.erase(found);
      finish(message, {});
      return {};
    }
    case FrameKind::kWithdrawn: withdrawn(from, header.id); return {};
  }
  // A short message that lies aside, or an offer.
  std::unique_ptr<Unexpected> one = std::move(sender.storing);
  if (one == nullptr) one = std::make_unique<Unexpected>();
  one->peer = from;
  one->header = header;
  MessagePtr message = take_posted(from, header.tag);
  if (message == nullptr) {
    unexpected_.push_back(std::move(*one));
    return {};
  }
  RONDO_RETURN_IF_ERROR(accept(message, from, header));
  if (header.kind == FrameKind::kOffer) return {};
  std::copy(one->payload.begin(), one->payload.end(),
            static_cast<char*>(message->data));
  finish(message, {});
  return {};
}

// The sender gave message `id` up. Whoever asks for it, now or later, is told.
void Mailbox::Impl::withdrawn(int from, uint64_t id) {
  Peer& sender = peer(from);
  if (const auto found = sender.expected.find(id);
      found != sender.expected.end()) {
    const MessagePtr message = found->second;
    sender.expected.erase(found);
    return finish(message, withdrawn_error(*message));
  }
  for (Unexpected& one : unexpected_)
    if (one.peer == from && one.header.id == id &&
        one.header.kind == FrameKind::kOffer)
      one.header.kind = FrameKind::kWithdrawn;
}

Status Mailbox::Impl::withdrawn_error(const Message& message) const {
  return error(Code::kTimeout,
               "{} on communicator {}: the sender gave it up, since its "
               "time-out had passed\n  do: receive sooner, or raise the "
               "sender's time-out",
               describe(message), group_.name());
}

// ---- Moving -----------------------------------------------------------------

// Channels from which nothing is wanted are left alone: over TCP a look at one
// connects it.
bool Mailbox::Impl::interested(int rank) const {
  const Peer& p = *peers_[static_cast<size_t>(rank)];
  if (p.gone) return false;
  if (p.line.has_frames() || !p.offered.empty() || !p.expected.empty() ||
      p.arriving != nullptr || p.storing != nullptr)
    return true;
  return std::any_of(posted_.begin(), posted_.end(), [&](const auto& one) {
    return one->peer == kAnySource || one->peer == rank;
  });
}

// What failed moves nothing any more: the memory of what was under way may be
// gone already.
bool Mailbox::Impl::pass() {
  if (stopped_ || group_.failed()) return false;
  bool moved = false;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank() || !interested(rank)) continue;
    // Asked first: what a peer sent before it left is received below.
    const bool left = group_.left(rank);
    bool here = false;
    move(rank, here);
    if (left && !here && !peer(rank).gone && said_all(rank)) peer_gone(rank);
    moved = moved || here;
  }
  return moved;
}

// Of a peer that left. In memory its goodbye comes behind the last byte. A
// socket tells of its own end there; one that has not arrived yet may have been
// overtaken by the goodbye, so it has a moment.
bool Mailbox::Impl::said_all(int rank) {
  Peer& one = peer(rank);
  const Channel& channel = one.line.channel();
  if (channel.reports_close(0, false)) return false;
  std::vector<pollfd> fds;
  if (!channel.poll_for_recv(0, fds)) return true;
  if (!one.patience) one.patience.emplace(seconds(0.5));
  return one.patience->passed();
}

void Mailbox::Impl::move(int rank, bool& moved) {
  MessageLine& line = peer(rank).line;
  Status status;
  if (!line.send(moved)) status = line.channel().failure();
  if (status.ok())
    status = line.receive(
        [&](const FrameHeader& header) { return place(rank, header); },
        [&](const FrameHeader& header) { return arrived(rank, header); },
        moved);
  // What arrived may have put an answer on the line.
  if (status.ok() && line.has_frames() && !line.send(moved))
    status = line.channel().failure();
  if (!status.ok()) lost_line(rank, status);
}

// A peer that closed its end is named by the endpoint, which may see it a
// moment later.
void Mailbox::Impl::lost_line(int rank, const Status& cause) {
  for (const Deadline patience(seconds(0.5));
       !patience.passed() && !group_.failed() && !group_.left(rank);)
    poll(nullptr, 0, 2);
  if (group_.failed()) return finish_all(group_.failure());
  if (group_.left(rank)) return peer_gone(rank);
  finish_all(group_.fail(cause.with_context(
      fmt::format("messages with {} on communicator {} failed",
                  group_.describe(rank), group_.name()))));
}

// Ends what only this peer could have answered.
void Mailbox::Impl::peer_gone(int rank) {
  peer(rank).gone = true;
  const bool anybody = !nobody_left();
  const std::list<MessagePtr> all = messages_;
  for (const MessagePtr& message : all) {
    if (message->peer != rank && (anybody || message->peer != kAnySource))
      continue;
    posted_.remove(message);
    finish(message, gone_error(*message, rank));
  }
}

// No message is under way, and nothing is left to be said about any.
bool Mailbox::Impl::idle() const {
  if (!messages_.empty()) return false;
  return group_.failed() ||
         std::none_of(peers_.begin(), peers_.end(), [](const auto& one) {
           return one != nullptr && !one->gone && one->line.has_frames();
         });
}

bool Mailbox::Impl::nobody_left() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& one) {
    return one == nullptr || one->gone;
  });
}

Status Mailbox::Impl::gone_error(const Message& message, int rank) const {
  return error(Code::kPeerLost,
               "{} on communicator {} failed on rank {}: {} has closed the "
               "communicator\n  do: make every send and recv meet its "
               "counterpart before a rank ends",
               describe(message), group_.name(), group_.rank(),
               is_peer(rank) ? group_.describe(rank) : "every other rank");
}

// ---- The thread -------------------------------------------------------------

void Mailbox::Impl::serve() {
  // A moment of looking costs less than the sleep that it often saves.
  constexpr int kLooks = 50;
  int looks = 0;
  Lock lock(mutex_);
  while (true) {
    // Also those that sleep() found to be over in its last look.
    call_finished(lock);
    if (stopped_) return;
    if (idle()) {
      changed_.wait(lock, [&] { return stopped_ || !messages_.empty(); });
      looks = 0;
      continue;
    }
    const bool moved = pass();
    expire();
    if (moved) {
      looks = 0;
    } else if (looks < kLooks) {
      ++looks;
      lock.unlock();
      sched_yield();
      lock.lock();
    } else {
      sleep(lock);
    }
  }
}

void Mailbox::Impl::sleep(Lock& lock) {
  auto until = Clock::now() + std::chrono::milliseconds(100);
  for (const MessagePtr& message : messages_)
    until = std::min(until, message->deadline);
  const Duration nap = std::max<Duration>(until - Clock::now(), {});
  std::vector<pollfd> fds;
  bool memory = false;
  bool kernel = false;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank() || !interested(rank)) continue;
    MessageLine& line = peer(rank).line;
    const bool polls = line.channel().poll_for_recv(0, fds);
    if (polls && line.has_frames()) line.channel().poll_for_send(0, fds);
    (polls ? kernel : memory) = true;
  }
  if (!kernel) {
    Doorbell& bell = group_.doorbell();
    const uint32_t ticket = bell.prepare();
    if (pass() || stopped_ || !finished_.empty()) return bell.dismiss();
    lock.unlock();
    bell.sleep(ticket, nap);
    lock.lock();
    return;
  }
  fds.push_back({group_.event_fd(), POLLIN, 0});
  // Nothing wakes a poll for channels in memory.
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(nap).count();
  lock.unlock();
  poll(fds.data(), fds.size(), memory ? 1 : static_cast<int>(ms) + 1);
  if (fds.back().revents != 0) group_.clear_event();
  lock.lock();
}

}  // namespace rondo
