#include "rondo/cluster/link.h"

#include <algorithm>
#include <optional>

#include "rondo/cluster/link_subject.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

// A later release may have more of them.
Code code_of(uint32_t number) {
  return number <= static_cast<uint32_t>(Code::kOutOfRange)
             ? static_cast<Code>(number)
             : Code::kInternal;
}

}  // namespace

Result<std::shared_ptr<PeerLink>> PeerLink::connect(const LinkTarget& target,
                                                    const Options& options,
                                                    Deadline deadline) {
  Status failure = error(Code::kUnavailable, "{} has no address", target.name);
  for (const SocketAddress& address : target.addresses) {
    auto fd = connect_to(address, deadline);
    if (!fd.ok()) {
      failure = fd.status();
      continue;
    }
    failure = handshake_as_client(
        fd->get(), options.token, Purpose::kLink,
        TaskLinkSubject::make(target.incarnation, options.caller).pack(),
        deadline);
    if (!failure.ok()) continue;
    std::shared_ptr<PeerLink> link(new PeerLink);
    auto state = std::make_shared<State>();
    link->incarnation_ = target.incarnation;
    link->state_ = state;
    link->connection_ = Connection::start(
        std::move(*fd),
        {.peer = target.name,
         .patience = options.patience,
         .pings = true,
         .shares_memory = options.shares_memory,
         .into = [state](uint64_t id) { return state->into(id); },
         .copier = options.copier},
        [state](wire::Message message) { state->answer(std::move(message)); },
        [state](const Status& why) { state->close(why); });
    const MutexLock lock(state->mutex);
    state->connection = link->connection_;
    return link;
  }
  return failure.with_context(fmt::format("cannot reach {}", target.name));
}

PeerLink::~PeerLink() {
  connection_->close(error(Code::kCancelled, "this process closed the link"));
}

Status PeerLink::failure() const {
  const MutexLock lock(state_->mutex);
  return state_->failure;
}

void PeerLink::State::answer(wire::Message message) {
  Done done;
  {
    const MutexLock lock(mutex);
    const auto at = waiting.find(message.id);
    if (message.kind != wire::Kind::kAnswer || at == waiting.end()) return;
    done = std::move(at->second.done);
    waiting.erase(at);
    if (waiting.empty())
      if (auto c = connection.lock()) c->expect(false);
  }
  if (message.code == 0)
    done(LinkAnswer{std::move(message.body), std::move(message.tensors)});
  else
    done(Status(code_of(message.code), std::move(message.body)));
}

std::vector<Tensor> PeerLink::State::into(uint64_t id) {
  const MutexLock lock(mutex);
  const auto at = waiting.find(id);
  return at == waiting.end() ? std::vector<Tensor>() : at->second.into;
}

void PeerLink::State::close(const Status& why) {
  std::map<uint64_t, Waiting> left;
  {
    const MutexLock lock(mutex);
    failure = why;
    left.swap(waiting);
  }
  for (auto& [id, one] : left) one.done(why);
}

void PeerLink::call(LinkCall what, Done done) {
  start(std::move(what), std::move(done));
  connection_->read_for_others();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): moved
bool PeerLink::start(LinkCall what, Done done) {
  wire::Message message{.kind = wire::Kind::kCall,
                        .code = what.method,
                        .body = std::move(what.body),
                        .tensors = std::move(what.tensors)};
  Status failure;
  bool alone = false;
  {
    const MutexLock lock(state_->mutex);
    failure = state_->failure;
    if (failure.ok()) {
      message.id = state_->next++;
      alone = state_->waiting.empty();
      if (alone) connection_->expect(true);
      auto& waiting = state_->waiting[message.id];
      waiting.done.swap(done);
      waiting.into = std::move(what.into);
    }
  }
  if (failure.ok())
    connection_->send(message);
  else
    done(failure);
  return alone;
}

Result<LinkAnswer> PeerLink::call(LinkCall what, Deadline deadline) {
  struct Waiter {
    Mutex mutex;
    CondVar done;
    std::optional<Result<LinkAnswer>> answer RONDO_GUARDED_BY(mutex);
  };
  auto waiter = std::make_shared<Waiter>();
  const bool alone =
      start(std::move(what), [waiter](Result<LinkAnswer> answer) {
        const MutexLock lock(waiter->mutex);
        waiter->answer.emplace(std::move(answer));
        waiter->done.notify_all();
      });
  if (alone)
    connection_->read_until(
        [&] {
          const MutexLock lock(waiter->mutex);
          return waiter->answer.has_value();
        },
        deadline);
  else
    connection_->read_for_others();
  const MutexLock lock(waiter->mutex);
  while (!waiter->answer) {
    if (deadline.passed())
      return error(Code::kTimeout, "{} did not answer in time{}",
                   connection_->peer(),
                   connection_->amid()
                       ? ": a part of a message has come, the rest has not"
                       : "");
    waiter->done.wait_for(waiter->mutex,
                          std::min<Duration>(deadline.left(), seconds(0.1)));
  }
  return std::move(*waiter->answer);
}

}  // namespace rondo
