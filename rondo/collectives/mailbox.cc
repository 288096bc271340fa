#include "rondo/collectives/mailbox.h"

#include <algorithm>

#include "rondo/collectives/communicator_impl.h"
#include "rondo/collectives/mailbox_impl.h"

namespace rondo {

Result<std::shared_ptr<Mailbox>> Mailbox::open(Communicator& comm) {
  // A group of its own: the communicator's channels belong to its operations.
  RONDO_ASSIGN_OR_RETURN(Communicator own, comm.split(0, comm.rank()));
  Group& group = own.impl_->group();
  auto impl = std::make_shared<Impl>(std::move(own), group);
  return std::shared_ptr<Mailbox>(new Mailbox(std::move(impl)));
}

Mailbox::Mailbox(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Mailbox::~Mailbox() { impl_->close(); }

void Mailbox::send(ConstView from, const Envelope& to, Done done) {
  const auto impl = impl_;
  impl->post_send(from, to, std::move(done));
}

void Mailbox::recv(View into, const Envelope& from, Done done) {
  const auto impl = impl_;
  impl->post_recv(into, from, std::move(done));
}

void Mailbox::abort(const std::string& reason) {
  const auto impl = impl_;
  impl->abort(reason);
}

// ---- Posting ----------------------------------------------------------------

Mailbox::Impl::Impl(Communicator owner, Group& group)
    : owner_(std::move(owner)), group_(group) {
  for (int rank = 0; rank < group_.size(); ++rank)
    peers_.push_back(is_peer(rank)
                         ? std::make_unique<Peer>(&group_.channel(rank))
                         : nullptr);
}

void Mailbox::Impl::close() {
  {
    Lock lock(mutex_);
    stopped_ = true;
    finish_all(
        error(Code::kCancelled, "communicator {} was closed", group_.name()));
    call_finished(lock);
    changed_.notify_all();
  }
  group_.on_stream();
  if (!thread_.joinable()) return;
  // A callback that lets the mailbox go may be on the thread itself.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

Mailbox::Impl::MessagePtr Mailbox::Impl::make(bool sends, View view,
                                              const Envelope& envelope,
                                              Done done) {
  auto message = std::make_shared<Message>();
  message->sends = sends;
  message->peer = envelope.peer;
  message->tag = envelope.tag;
  message->data = view.data;
  message->count = view.count;
  message->dtype = view.dtype;
  message->timeout =
      envelope.timeout > Duration::zero() ? envelope.timeout : seconds(300);
  message->deadline = Clock::now() + message->timeout;
  message->done = std::move(done);
  return message;
}

void Mailbox::Impl::post_send(ConstView from, const Envelope& to, Done done) {
  const View view(const_cast<void*>(from.data), from.count, from.dtype);
  auto message = make(true, view, to, std::move(done));
  Lock lock(mutex_);
  begin(message, lock);
}

void Mailbox::Impl::post_recv(View into, const Envelope& from, Done done) {
  auto message = make(false, into, from, std::move(done));
  Lock lock(mutex_);
  begin(message, lock);
}

Status Mailbox::Impl::check_peer(const Message& message) const {
  if (stopped_)
    return error(Code::kCancelled, "communicator {} is closed", group_.name());
  if (group_.failed()) return group_.failure();
  const bool any = !message.sends && message.peer == kAnySource;
  if (any && group_.size() > 1) return {};
  if (!is_peer(message.peer))
    return error(Code::kInvalidArgument,
                 "{}: there is no such other rank in communicator {}, which "
                 "has {} ranks; this is rank {}",
                 describe(message), group_.name(), group_.size(),
                 group_.rank());
  return {};
}

std::string Mailbox::Impl::describe(const Message& message) const {
  const std::string who = message.peer == kAnySource ? "any rank"
                          : is_peer(message.peer)
                              ? group_.describe(message.peer)
                              : fmt::format("rank {}", message.peer);
  return fmt::format("{} {} (tag {}, {} {})",
                     message.sends ? "send to" : "recv from", who, message.tag,
                     message.count, name_of(message.dtype));
}

void Mailbox::Impl::begin(const MessagePtr& message, Lock& lock) {
  messages_.push_back(message);
  if (Status status = check_peer(*message); !status.ok())
    finish(message, std::move(status));
  else if (message->sends)
    start_send(message);
  else
    start_recv(message);
  pass();
  const bool waits = !messages_.empty();
  if (waits && !thread_.joinable() && !stopped_)
    thread_ = std::thread([self = shared_from_this()] { self->serve(); });
  call_finished(lock);
  if (!waits) return;
  changed_.notify_one();
  group_.on_stream();
}

void Mailbox::Impl::start_send(const MessagePtr& message) {
  message->id = next_id_++;
  FrameHeader header;
  header.dtype = message->dtype;
  header.tag = message->tag;
  header.id = message->id;
  header.count = message->count;
  Peer& to = peer(message->peer);
  if (group_.left(message->peer) || to.gone)
    return finish(message, gone_error(*message, message->peer));
  if (header.bytes() <= kEagerBytes) {
    to.line.push(header, message->data,
                 [this, message] { finish(message, {}); });
    return;
  }
  header.kind = FrameKind::kOffer;
  to.offered[message->id] = message;
  to.line.push(header, nullptr);
}

void Mailbox::Impl::start_recv(const MessagePtr& message) {
  const auto found = std::find_if(
      unexpected_.begin(), unexpected_.end(), [&](const Unexpected& one) {
        return one.header.tag == message->tag &&
               (message->peer == kAnySource || message->peer == one.peer);
      });
  if (found == unexpected_.end()) {
    const bool any = message->peer == kAnySource;
    if (any ? nobody_left() : peer(message->peer).gone)
      return finish(message, gone_error(*message, message->peer));
    posted_.push_back(message);
    return;
  }
  const Unexpected one = std::move(*found);
  unexpected_.erase(found);
  if (one.header.kind == FrameKind::kWithdrawn) {
    message->peer = one.peer;
    return finish(message, withdrawn_error(*message));
  }
  Status status = accept(message, one.peer, one.header);
  if (!status.ok()) return finish_all(status);
  if (one.header.kind != FrameKind::kEager) return;
  std::copy(one.payload.begin(), one.payload.end(),
            static_cast<char*>(message->data));
  finish(message, {});
}

void Mailbox::Impl::abort(const std::string& reason) {
  Lock lock(mutex_);
  finish_all(group_.fail(Status(Code::kCancelled, reason)));
  call_finished(lock);
}

// ---- Ending -----------------------------------------------------------------

void Mailbox::Impl::finish(const MessagePtr& message, Status status) {
  const auto at = std::find(messages_.begin(), messages_.end(), message);
  if (at == messages_.end()) return;
  messages_.erase(at);
  finished_.emplace_back(message, std::move(status));
}

void Mailbox::Impl::finish_all(const Status& status) {
  posted_.clear();
  while (!messages_.empty()) finish(MessagePtr(messages_.front()), status);
}

void Mailbox::Impl::call_finished(Lock& lock) {
  while (!finished_.empty()) {
    auto finished = std::move(finished_);
    finished_.clear();
    lock.unlock();
    for (auto& [message, status] : finished) {
      // What the callback holds goes with it, and not with the message.
      const Done done = std::move(message->done);
      done(status, message->peer);
    }
    lock.lock();
  }
}

// A message that has not begun is given up alone. One that has leaves its line,
// or its memory, half done.
void Mailbox::Impl::give_up(const MessagePtr& message) {
  Status status = error(
      Code::kTimeout,
      "{} on communicator {} timed out on rank {} after {:.3g} s\n  do: look "
      "at what the other rank is doing, or raise the time-out",
      describe(*message), group_.name(), group_.rank(),
      to_seconds(message->timeout));
  const auto taken = message->sends
                         ? peer(message->peer).line.take_back(message->id)
                     : message->begun ? MessageLine::Taken::kNot
                                      : MessageLine::Taken::kWhole;
  if (taken == MessageLine::Taken::kNot)
    return finish_all(group_.fail(std::move(status)));
  if (taken == MessageLine::Taken::kOffered) withdraw(message);
  if (message->sends)
    peer(message->peer).offered.erase(message->id);
  else
    posted_.remove(message);
  finish(message, std::move(status));
}

// Said at once: nobody looks at what the peer answers when nothing else is
// wanted from it.
void Mailbox::Impl::withdraw(const MessagePtr& message) {
  FrameHeader header;
  header.kind = FrameKind::kWithdrawn;
  header.dtype = message->dtype;
  header.tag = message->tag;
  header.id = message->id;
  header.count = message->count;
  peer(message->peer).line.push(header, nullptr);
}

void Mailbox::Impl::expire() {
  if (group_.failed()) return finish_all(group_.failure());
  const auto now = Clock::now();
  const std::list<MessagePtr> all = messages_;
  for (const MessagePtr& message : all)
    if (message->deadline <= now) give_up(message);
}

}  // namespace rondo
