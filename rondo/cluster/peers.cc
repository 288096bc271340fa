#include "rondo/cluster/peers.h"

#include <algorithm>

#include "rondo/base/log.h"

namespace rondo {
namespace {

constexpr Duration kOneTry = std::chrono::seconds(5);
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::milliseconds(500);
// When the log begins to say for whom this process waits, and how often.
constexpr Duration kFirstWord = std::chrono::seconds(5);
constexpr Duration kNextWord = std::chrono::seconds(30);

// Until a moment later, or the deadline.
void pause(Duration time, const Deadline& deadline) {
  Mutex mutex;
  CondVar nobody;
  const MutexLock lock(mutex);
  nobody.wait_for(mutex, std::min(time, deadline.left()));
}

bool may_come_yet(const Status& status) {
  return status.code() == Code::kUnavailable ||
         status.code() == Code::kTimeout || status.code() == Code::kPeerLost;
}

Result<std::vector<SocketAddress>> link_addresses(const HostPort& at,
                                                  const HelloInfo& hello) {
  RONDO_ASSIGN_OR_RETURN(std::vector<SocketAddress> found,
                         SocketAddress::resolve(at.host, 0));
  for (SocketAddress& address : found) {
    const size_t family = address.family() == AF_INET ? 0 : 1;
    if (family < hello.link_ports.size())
      address.set_port(hello.link_ports[family]);
  }
  std::erase_if(found, [](const SocketAddress& a) { return a.port() == 0; });
  return found;
}

Result<Peer> try_once(const std::string& address, const std::string& expected,
                      const PeerOptions& options, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(const HostPort at, HostPort::parse(address));
  Peer peer;
  RONDO_ASSIGN_OR_RETURN(
      peer.control, ControlClient::make(
                        address, {.token = options.token, .tls = options.tls}));
  RONDO_ASSIGN_OR_RETURN(const HelloInfo hello, peer.control->hello(deadline));
  if (!expected.empty() && hello.task != expected)
    return error(Code::kMismatch,
                 "{} says that it is {}, and this process has {} there: give "
                 "all tasks of a cluster the same addresses",
                 address, hello.task, expected);
  peer.name = hello.task;
  LinkTarget target{
      fmt::format("{} ({})", hello.task, address), hello.incarnation, {}};
  RONDO_ASSIGN_OR_RETURN(target.addresses, link_addresses(at, hello));
  RONDO_ASSIGN_OR_RETURN(peer.link,
                         PeerLink::connect(target,
                                           {.token = options.token,
                                            .caller = options.caller,
                                            .patience = options.patience,
                                            .copier = options.copier},
                                           deadline));
  return peer;
}

}  // namespace

Result<Peer> reach(const std::string& address, const std::string& expected,
                   const PeerOptions& options, Deadline deadline) {
  const std::string who = expected.empty()
                              ? fmt::format("the task at {}", address)
                              : fmt::format("{} at {}", expected, address);
  const auto begin = Clock::now();
  Duration next_word = kFirstWord;
  Duration pause_time = kFirstPause;
  for (;;) {
    auto peer = try_once(address, expected, options,
                         Deadline(std::min(kOneTry, deadline.left())));
    if (peer.ok()) return peer;
    const Status why = peer.status();
    if (!may_come_yet(why)) return why.with_context(who);
    if (options.given_up && *options.given_up)
      return error(Code::kCancelled, "{} is not waited for any more", who);
    const Duration waited = Clock::now() - begin;
    if (deadline.passed())
      return error(Code::kTimeout,
                   "{} did not answer within {:.3g} s: {}. Start it, or wait "
                   "longer for it",
                   who, to_seconds(waited), why.message());
    if (waited >= next_word) {
      log(LogLevel::kWarning, "waiting for {}: {}", who, why.message());
      next_word += kNextWord;
    }
    pause(pause_time, deadline);
    pause_time = std::min(2 * pause_time, kLongestPause);
  }
}

Result<Peer> Peers::connect(const TaskName& task, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(const std::string address, cluster_.address(task));
  {
    const MutexLock lock(mutex_);
    const auto at = peers_.find(task);
    if (at != peers_.end() && at->second.link->failure().ok())
      return at->second;
  }
  RONDO_ASSIGN_OR_RETURN(Peer peer,
                         reach(address, task.to_string(), options_, deadline));
  Peer before;  // closed without the lock
  const MutexLock lock(mutex_);
  Peer& slot = peers_[task];
  // Somebody else may have been quicker.
  if (slot.link && slot.link->failure().ok()) {
    before = std::move(peer);
    return slot;
  }
  before = std::move(slot);
  slot = peer;
  return peer;
}

Result<std::shared_ptr<PeerLink>> Peers::link(const TaskName& task) const {
  const MutexLock lock(mutex_);
  const auto at = peers_.find(task);
  if (at == peers_.end())
    return error(Code::kUnavailable, "there is no link to {} yet",
                 task.to_string());
  return at->second.link;
}

void Peers::close(const Status& why) {
  std::map<TaskName, Peer> all;
  {
    const MutexLock lock(mutex_);
    all.swap(peers_);
  }
  for (auto& [task, peer] : all) peer.link->close(why);
}

}  // namespace rondo
