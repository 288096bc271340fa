#include "rondo/transport/endpoint.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rondo/base/log.h"
#include "rondo/transport/interfaces.h"

namespace rondo {
namespace {

constexpr double kHandshakeSeconds = 10;
// Longest single wait; the loops around it look at the deadline again.
constexpr Duration kWaitSlice = std::chrono::milliseconds(100);
// A stranger that holds connections open must not exhaust the descriptors, of
// which a process has 1024 by default, nor keep others out.
constexpr size_t kMaxPendingHandshakes = 128;

// What a control link or a data stream is for: the handshake's subject.
struct LinkSubject {
  uint64_t target = 0;  // the nonce of the endpoint that is called
  uint64_t caller = 0;  // the nonce of the one that calls
  uint64_t group = 0;   // streams
  int32_t rank = 0;     // the caller's
  int32_t index = 0;    // streams
};
static_assert(sizeof(LinkSubject) <= sizeof(Subject));

Subject pack(const LinkSubject& link) {
  Subject subject{};
  std::memcpy(subject.data(), &link, sizeof link);
  return subject;
}

LinkSubject unpack(const Subject& subject) {
  LinkSubject link;
  std::memcpy(&link, subject.data(), sizeof link);
  return link;
}

}  // namespace

Result<std::shared_ptr<Endpoint>> Endpoint::start(
    const EndpointOptions& options) {
  std::shared_ptr<Endpoint> endpoint(new Endpoint);
  RONDO_RETURN_IF_ERROR(endpoint->listen(options));
  endpoint->thread_ = std::thread([e = endpoint.get()] { e->serve(); });
  return endpoint;
}

Status Endpoint::listen(const EndpointOptions& options) {
  token_ = options.token;
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid())
    return errno_error(Code::kResource, errno, "cannot make an eventfd");
  RONDO_ASSIGN_OR_RETURN(auto filter,
                         InterfaceFilter::parse(options.interface));
  RONDO_ASSIGN_OR_RETURN(auto all, list_interfaces());
  std::vector<Interface> chosen;
  if (token_.empty() && options.interface.empty()) {
    // Nobody but loopback peers would be let in anyway.
    for (const Interface& i : all)
      if (i.address.is_loopback()) chosen.push_back(i);
  }
  if (chosen.empty()) {
    RONDO_ASSIGN_OR_RETURN(chosen, filter.select(all));
  }
  Status failure;
  for (const Interface& interface : chosen) {
    auto fd = listen_on(interface.address, options.ports);
    if (!fd.ok()) {
      failure = fd.status();
      continue;
    }
    auto address = local_address(fd->get());
    if (!address.ok()) return address.status();
    card_.addresses.push_back(*address);
    listeners_.push_back(std::move(*fd));
  }
  if (listeners_.empty()) return failure.with_context("cannot listen");
  card_.nonce = random_u64();
  card_.pid = getpid();
  card_.host = host_name();
  card_.boot = boot_identity();
  card_.cpus = usable_cpus();
  return {};
}

Endpoint::~Endpoint() {
  std::vector<std::shared_ptr<ControlLink>> links;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    for (auto& [peer, state] : peers_)
      if (state.link && state.lost.ok()) links.push_back(state.link);
  }
  for (auto& link : links)
    (void)link->send({ControlType::kGoodbye, 0, 0, {}}).ok();
  wake();
  if (thread_.joinable()) thread_.join();
}

void Endpoint::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

std::string Endpoint::describe(int peer) const {
  if (peer < 0 || peer >= size()) return fmt::format("rank {}", peer);
  const Card& card = card_of(peer);
  return fmt::format("rank {} ({}, pid {})", peer, card.host, card.pid);
}

// ---- Making connections -----------------------------------------------------

Result<Fd> Endpoint::reach(int peer, Purpose purpose, const Subject& subject,
                           Deadline deadline) const {
  const Card& card = card_of(peer);
  const bool same_kernel = card.boot == card_.boot;
  std::vector<SocketAddress> candidates;
  for (const SocketAddress& a : card.addresses)
    if (same_kernel || !a.is_loopback()) candidates.push_back(a);
  if (candidates.empty())
    return error(Code::kUnavailable,
                 "{} listens on loopback addresses only, and is on another "
                 "host; set RONDO_TOKEN and RONDO_INTERFACE there",
                 describe(peer));
  std::stable_partition(candidates.begin(), candidates.end(),
                        [](const SocketAddress& a) { return a.is_loopback(); });
  // What works for the control link, whoever opened it, comes first.
  if (const auto link = link_to(peer))
    if (const auto known = peer_address(link->fd()); known.ok())
      std::stable_partition(candidates.begin(), candidates.end(),
                            [&](const SocketAddress& a) {
                              return a.host_string() == known->host_string();
                            });
  std::string tried;
  do {
    tried.clear();
    auto untried = static_cast<int64_t>(candidates.size());
    for (const SocketAddress& address : candidates) {
      // A silent address must leave time for the next.
      const Deadline attempt(std::min(deadline.left() / untried--, seconds(3)));
      if (!tried.empty() && attempt.passed()) break;
      auto fd = connect_to(address, attempt);
      Status status = fd.status();
      if (fd.ok()) {
        status =
            handshake_as_client(fd->get(), token_, purpose, subject, attempt);
        if (status.ok()) return std::move(*fd);
      }
      if (status.code() == Code::kPermission)
        return status.with_context("connecting to " + describe(peer));
      tried += fmt::format("\n  {}: {}", address.to_string(), status.message());
    }
    if (!lost(peer).ok() || left(peer) || deadline.passed()) break;
    poll(nullptr, 0, deadline.poll_ms(100));
  } while (!deadline.passed());
  return error(Code::kUnavailable,
               "cannot connect to {}; tried{}\n  do: check that the hosts "
               "reach each other, and choose the network with RONDO_INTERFACE",
               describe(peer), tried);
}

Status Endpoint::connect(int rank, std::vector<Card> cards, Deadline deadline) {
  {
    std::lock_guard lock(mutex_);
    rank_ = rank;
    cards_ = std::move(cards);
  }
  for (int peer = 0; peer < rank; ++peer) {
    const LinkSubject subject{
        .target = card_of(peer).nonce, .caller = card_.nonce, .rank = rank};
    RONDO_ASSIGN_OR_RETURN(
        Fd fd, reach(peer, Purpose::kControl, pack(subject), deadline));
    {
      std::lock_guard lock(mutex_);
      peers_[peer].nonce = card_of(peer).nonce;
      peers_[peer].link = std::make_shared<ControlLink>(std::move(fd));
    }
    wake();
  }
  std::unique_lock lock(mutex_);
  while (!missing_links().ok()) {
    if (deadline.passed()) return missing_links();
    changed_.wait_for(lock, std::min(deadline.left(), kWaitSlice));
  }
  return {};
}

Status Endpoint::missing_links() const {
  std::string missing;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    auto it = peers_.find(peer);
    if (it == peers_.end() || it->second.link == nullptr ||
        it->second.nonce != card_of(peer).nonce)
      missing += (missing.empty() ? "" : ", ") + describe(peer);
  }
  if (missing.empty()) return {};
  return error(Code::kTimeout,
               "no connection from {} within the connect time-out; do: check "
               "that the hosts reach each other (RONDO_INTERFACE chooses the "
               "network) and look at the logs of those ranks",
               missing);
}

Result<Fd> Endpoint::open_stream(int peer, uint64_t group, int index,
                                 Deadline deadline) {
  const LinkSubject subject{.target = card_of(peer).nonce,
                            .caller = card_.nonce,
                            .group = group,
                            .rank = rank_,
                            .index = index};
  return reach(peer, Purpose::kStream, pack(subject), deadline);
}

std::optional<Fd> Endpoint::take_stream(int peer, uint64_t group, int index) {
  std::lock_guard lock(mutex_);
  auto it = streams_.find({group, peer, index});
  if (it == streams_.end()) return std::nullopt;
  Fd fd = std::move(it->second);
  streams_.erase(it);
  return fd;
}

// ---- Groups -----------------------------------------------------------------

void Endpoint::attach(uint64_t group, GroupHandler* handler) {
  std::lock_guard lock(handlers_mutex_);
  handlers_[group] = handler;
}

void Endpoint::detach(uint64_t group) {
  {
    std::lock_guard lock(handlers_mutex_);
    handlers_.erase(group);
  }
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [group](const auto& entry) {
    return std::get<0>(entry.first) == group;
  });
  std::erase_if(mail_, [group](const auto& entry) {
    return std::get<0>(entry.first) == group;
  });
}

std::shared_ptr<ControlLink> Endpoint::link_to(int peer) const {
  std::lock_guard lock(mutex_);
  auto it = peers_.find(peer);
  if (it == peers_.end() || !it->second.lost.ok() || it->second.left)
    return nullptr;
  return it->second.link;
}

void Endpoint::tell(int peer, const ControlFrame& frame) {
  // A failing send is not reported: the reader notices the loss and says so.
  if (auto link = link_to(peer)) (void)link->send(frame).ok();
}

bool Endpoint::by_loopback(int peer) const {
  const auto link = link_to(peer);
  if (link == nullptr) return false;
  const auto mine = local_address(link->fd());
  const auto theirs = peer_address(link->fd());
  return mine.ok() && theirs.ok() &&
         (theirs->is_loopback() ||
          mine->host_string() == theirs->host_string());
}

Status Endpoint::lost(int peer) const {
  std::lock_guard lock(mutex_);
  auto it = peers_.find(peer);
  return it == peers_.end() ? Status() : it->second.lost;
}

bool Endpoint::left(int peer) const {
  std::lock_guard lock(mutex_);
  auto it = peers_.find(peer);
  return it != peers_.end() && it->second.left;
}

Result<std::vector<std::string>> Endpoint::exchange(
    uint64_t group, uint64_t round, std::span<const int> members,
    const std::string& mine, Deadline deadline, const GiveUp& give_up) {
  for (int peer : members)
    if (peer != rank_) tell(peer, {ControlType::kExchange, group, round, mine});
  std::vector<std::string> answers(members.size());
  std::unique_lock lock(mutex_);
  for (;;) {
    std::string silent;
    Status gone;
    for (size_t i = 0; i < members.size(); ++i) {
      const int peer = members[i];
      if (peer == rank_ || mail_.contains({group, round, peer})) continue;
      silent += (silent.empty() ? "" : ", ") + describe(peer);
      const Peer& state = peers_[peer];
      if (!state.lost.ok()) gone = state.lost;
      if (state.left)
        gone = error(Code::kPeerLost, "{} has left the job", describe(peer));
      if (gone.ok() && give_up) gone = give_up(peer);
    }
    if (silent.empty()) break;
    if (!gone.ok()) return gone;
    if (deadline.passed())
      return error(Code::kTimeout, "no answer from {}; do: look at its log",
                   silent);
    changed_.wait_for(lock, std::min(deadline.left(), kWaitSlice));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == rank_) {
      answers[i] = mine;
      continue;
    }
    auto it = mail_.find({group, round, members[i]});
    answers[i] = std::move(it->second);
    mail_.erase(it);
  }
  return answers;
}

std::vector<std::optional<std::string>> Endpoint::query(
    uint64_t group, std::span<const int> peers, Duration patience) {
  uint64_t question = 0;
  {
    std::lock_guard lock(mutex_);
    question = next_question_++;
    open_questions_.insert(question);
  }
  for (int peer : peers) tell(peer, {ControlType::kQuery, group, question, {}});
  const Deadline deadline(patience);
  std::vector<std::optional<std::string>> answers(peers.size());
  std::unique_lock lock(mutex_);
  for (;;) {
    size_t there = 0;
    for (int peer : peers) there += replies_.count({question, peer});
    if (there == peers.size() || deadline.passed()) break;
    changed_.wait_for(lock, std::min(deadline.left(), kWaitSlice));
  }
  for (size_t i = 0; i < peers.size(); ++i) {
    auto it = replies_.find({question, peers[i]});
    if (it != replies_.end()) answers[i] = std::move(it->second);
  }
  open_questions_.erase(question);
  std::erase_if(replies_, [question](const auto& entry) {
    return entry.first.first == question;
  });
  return answers;
}

// ---- The thread -------------------------------------------------------------

void Endpoint::serve() {
  std::vector<ServerHandshake> pending;
  std::vector<pollfd> fds;
  std::vector<std::pair<int, std::shared_ptr<ControlLink>>> links;
  for (;;) {
    fds.clear();
    links.clear();
    fds.push_back({wake_.get(), POLLIN, 0});
    {
      std::lock_guard lock(mutex_);
      if (closing_) return;
      for (auto& [peer, state] : peers_)
        if (state.link && state.lost.ok() && !state.left)
          links.emplace_back(peer, state.link);
    }
    for (const Fd& listener : listeners_)
      fds.push_back({listener.get(), POLLIN, 0});
    for (const auto& [peer, link] : links)
      fds.push_back({link->fd(), POLLIN, 0});
    for (const ServerHandshake& handshake : pending)
      fds.push_back({handshake.fd(), handshake.events(), 0});
    poll(fds.data(), fds.size(), pending.empty() ? 10'000 : 250);

    uint64_t rings = 0;
    [[maybe_unused]] ssize_t n = ::read(wake_.get(), &rings, sizeof rings);
    std::erase_if(pending, [this](ServerHandshake& handshake) {
      switch (handshake.advance()) {
        case ServerHandshake::State::kPending: return false;
        case ServerHandshake::State::kDone: admit(handshake); return true;
        case ServerHandshake::State::kFailed:
          log(LogLevel::kInfo, "turned a connection away: {}",
              handshake.failure().message());
          return true;
      }
      return true;
    });
    size_t at = 1 + listeners_.size();
    for (const auto& [peer, link] : links) {
      if (fds[at++].revents == 0) continue;
      Status status = link->receive([this, p = peer](ControlFrame frame) {
        handle(p, std::move(frame));
      });
      if (!status.ok()) lose(peer, status);
    }
    for (size_t i = 0; i < listeners_.size(); ++i)
      if (fds[1 + i].revents != 0) accept_on(listeners_[i].get(), pending);
  }
}

void Endpoint::accept_on(int listener, std::vector<ServerHandshake>& pending) {
  for (;;) {
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    // A rank's handshake takes a moment: the oldest is the likeliest stranger.
    if (pending.size() >= kMaxPendingHandshakes) pending.erase(pending.begin());
    pending.emplace_back(
        std::move(fd), token_, seconds(kHandshakeSeconds),
        [nonce = card_.nonce](Purpose purpose, const Subject& subject) {
          const bool ours =
              (purpose == Purpose::kControl || purpose == Purpose::kStream) &&
              unpack(subject).target == nonce;
          return ours ? Verdict::kWelcome : Verdict::kNotHere;
        });
    pending.back().advance();
  }
}

void Endpoint::admit(ServerHandshake& done) {
  const LinkSubject subject = unpack(done.subject());
  if (done.purpose() == Purpose::kStream) {
    {
      std::lock_guard lock(mutex_);
      streams_[{subject.group, subject.rank, subject.index}] = done.take();
    }
    std::lock_guard lock(handlers_mutex_);
    auto it = handlers_.find(subject.group);
    if (it != handlers_.end()) it->second->on_stream();
    return;
  }
  std::lock_guard lock(mutex_);
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
      std::lock_guard lock(mutex_);
      mail_[{frame.group, frame.argument, peer}] = std::move(frame.payload);
      changed_.notify_all();
      return;
    }
    case ControlType::kReply: {
      std::lock_guard lock(mutex_);
      if (open_questions_.contains(frame.argument))
        replies_[{frame.argument, peer}] = std::move(frame.payload);
      changed_.notify_all();
      return;
    }
    case ControlType::kGoodbye: {
      {
        std::lock_guard lock(mutex_);
        peers_[peer].left = true;
        changed_.notify_all();
      }
      std::lock_guard lock(handlers_mutex_);
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
    std::lock_guard lock(handlers_mutex_);
    auto it = handlers_.find(frame.group);
    if (it == handlers_.end()) return;
    if (frame.type == ControlType::kAbort)
      it->second->on_abort(peer, Status(static_cast<Code>(frame.argument),
                                        std::move(frame.payload)));
    if (frame.type == ControlType::kLeave) it->second->on_left(peer);
    if (frame.type == ControlType::kQuery) answer = it->second->report();
  }
  if (frame.type != ControlType::kQuery) {
    std::lock_guard lock(mutex_);
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
    std::lock_guard lock(mutex_);
    Peer& state = peers_[peer];
    if (state.left || !state.lost.ok()) return;
    state.lost = status;
    changed_.notify_all();
  }
  std::lock_guard lock(handlers_mutex_);
  for (auto& [group, handler] : handlers_) handler->on_lost(peer, status);
}

}  // namespace rondo
