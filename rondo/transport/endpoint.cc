#include "rondo/transport/endpoint.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "rondo/transport/interfaces.h"
#include "rondo/transport/link_subject.h"

namespace rondo {

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
  RONDO_RETURN_IF_ERROR(acceptor_.listen(chosen, options.ports, token_));
  card_.nonce = random_u64();
  card_.pid = getpid();
  card_.host = host_name();
  card_.addresses = acceptor_.addresses();
  card_.boot = boot_identity();
  card_.cpus = usable_cpus();
  acceptor_.set_accept(
      [nonce = card_.nonce](Purpose purpose, const Subject& subject) {
        const bool ours =
            (purpose == Purpose::kControl || purpose == Purpose::kStream) &&
            LinkSubject::unpack(subject).target == nonce;
        return ours ? Verdict::kWelcome : Verdict::kNotHere;
      });
  return {};
}

Endpoint::~Endpoint() {
  std::vector<std::shared_ptr<ControlLink>> links;
  {
    MutexLock lock(mutex_);
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

// ---- Peers ------------------------------------------------------------------

std::shared_ptr<ControlLink> Endpoint::link_to(int peer) const {
  MutexLock lock(mutex_);
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
  MutexLock lock(mutex_);
  auto it = peers_.find(peer);
  return it == peers_.end() ? Status() : it->second.lost;
}

bool Endpoint::left(int peer) const {
  MutexLock lock(mutex_);
  auto it = peers_.find(peer);
  return it != peers_.end() && it->second.left;
}

}  // namespace rondo
