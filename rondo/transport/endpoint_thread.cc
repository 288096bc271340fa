// The endpoint's thread: it accepts connections, reads control links, and tells
// groups what concerns them.
#include <poll.h>
#include <unistd.h>

#include "rondo/transport/endpoint.h"
#include "rondo/transport/link_subject.h"

namespace rondo {

void Endpoint::serve() {
  std::vector<pollfd> fds;
  std::vector<std::pair<int, std::shared_ptr<ControlLink>>> links;
  for (;;) {
    fds.clear();
    links.clear();
    fds.push_back({wake_.get(), POLLIN, 0});
    {
      MutexLock lock(mutex_);
      if (closing_) return;
      for (auto& [peer, state] : peers_)
        if (state.link && state.lost.ok() && !state.left)
          links.emplace_back(peer, state.link);
    }
    for (const auto& [peer, link] : links)
      fds.push_back({link->fd(), POLLIN, 0});
    const int patience_ms = acceptor_.add_to_poll(fds, 10'000);
    poll(fds.data(), fds.size(), patience_ms);

    uint64_t rings = 0;
    [[maybe_unused]] ssize_t n = ::read(wake_.get(), &rings, sizeof rings);
    for (size_t i = 0; i < links.size(); ++i) {
      if (fds[1 + i].revents == 0) continue;
      const auto& [peer, link] = links[i];
      Status status = link->receive([this, p = peer](ControlFrame frame) {
        handle(p, std::move(frame));
      });
      if (!status.ok()) lose(peer, status);
    }
    acceptor_.serve(std::span(fds).subspan(1 + links.size()),
                    [this](ServerHandshake& done) { admit(done); });
  }
}

void Endpoint::admit(ServerHandshake& done) {
  const LinkSubject subject = LinkSubject::unpack(done.subject());
  if (done.purpose() == Purpose::kStream) {
    {
      MutexLock lock(mutex_);
      arrivals_.add_stream(subject.group, subject.rank, subject.index,
                           done.take());
    }
    MutexLock lock(handlers_mutex_);
    auto it = handlers_.find(subject.group);
    if (it != handlers_.end()) it->second->on_stream();
    return;
  }
  MutexLock lock(mutex_);
  Peer& peer = peers_[subject.rank];
  if (peer.link == nullptr) {
    peer.nonce = subject.caller;
    peer.link = std::make_shared<ControlLink>(done.take());
  }
  changed_.notify_all();
}

void Endpoint::handle(int peer, ControlFrame frame) {
  switch (frame.type) {
    case ControlType::kExchange: {
      MutexLock lock(mutex_);
      arrivals_.add_mail(frame.group, frame.argument, peer,
                         std::move(frame.payload));
      changed_.notify_all();
      return;
    }
    case ControlType::kReply: {
      MutexLock lock(mutex_);
      if (open_questions_.contains(frame.argument))
        replies_[{frame.argument, peer}] = std::move(frame.payload);
      changed_.notify_all();
      return;
    }
    case ControlType::kGoodbye: {
      {
        MutexLock lock(mutex_);
        peers_[peer].left = true;
        changed_.notify_all();
      }
      MutexLock lock(handlers_mutex_);
      for (auto& [group, handler] : handlers_) handler->on_left(peer);
      return;
    }
    case ControlType::kAbort:
    case ControlType::kQuery:
    case ControlType::kLeave: break;
    default: return;
  }
  std::string answer;
  {
    MutexLock lock(handlers_mutex_);
    auto it = handlers_.find(frame.group);
    if (it == handlers_.end()) return;
    if (frame.type == ControlType::kAbort)
      it->second->on_abort(peer, Status(static_cast<Code>(frame.argument),
                                        std::move(frame.payload)));
    if (frame.type == ControlType::kLeave) it->second->on_left(peer);
    if (frame.type == ControlType::kQuery) answer = it->second->report();
  }
  if (frame.type != ControlType::kQuery) {
    MutexLock lock(mutex_);
    changed_.notify_all();
  }
  if (frame.type == ControlType::kQuery)
    tell(peer,
         {ControlType::kReply, frame.group, frame.argument, std::move(answer)});
}

void Endpoint::lose(int peer, const Status& why) {
  Status status = error(Code::kPeerLost, "{} was lost\n  cause: {}",
                        describe(peer), why.message());
  {
    MutexLock lock(mutex_);
    Peer& state = peers_[peer];
    if (state.left || !state.lost.ok()) return;
    state.lost = status;
    changed_.notify_all();
  }
  MutexLock lock(handlers_mutex_);
  for (auto& [group, handler] : handlers_) handler->on_lost(peer, status);
}

}  // namespace rondo
