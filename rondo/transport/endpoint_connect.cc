// How an endpoint reaches others: control links at the start, streams when they
// are needed.
#include <poll.h>

#include <algorithm>

#include "rondo/transport/endpoint.h"
#include "rondo/transport/link_subject.h"

namespace rondo {

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
  everybody_ = std::make_unique<const Roster>(Roster{rank, std::move(cards)});
  roster_.store(everybody_.get(), std::memory_order_release);
  for (int peer = 0; peer < rank; ++peer) {
    const LinkSubject subject{
        .target = card_of(peer).nonce, .caller = card_.nonce, .rank = rank};
    RONDO_ASSIGN_OR_RETURN(
        Fd fd, reach(peer, Purpose::kControl, subject.pack(), deadline));
    {
      MutexLock lock(mutex_);
      peers_[peer].nonce = card_of(peer).nonce;
      peers_[peer].link = std::make_shared<ControlLink>(std::move(fd));
    }
    wake();
  }
  MutexLock lock(mutex_);
  while (!missing_links().ok()) {
    if (deadline.passed()) return missing_links();
    changed_.wait_for(mutex_, std::min(deadline.left(), kWaitSlice));
  }
  return {};
}

Status Endpoint::missing_links() const {
  std::string missing;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
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
                            .rank = rank(),
                            .index = index};
  return reach(peer, Purpose::kStream, subject.pack(), deadline);
}

}  // namespace rondo
