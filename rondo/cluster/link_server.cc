#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rondo/cluster/link.h"
#include "rondo/cluster/link_subject.h"

namespace rondo {
namespace {

constexpr int kIdlePollMs = 60'000;

Status stopped() {
  return error(Code::kPeerLost, "this task's server was stopped");
}

}  // namespace

Result<std::unique_ptr<LinkServer>> LinkServer::start(Options options,
                                                      Serve serve, Gone gone) {
  std::unique_ptr<LinkServer> made(
      new LinkServer(std::move(options), std::move(serve), std::move(gone)));
  std::vector<Interface> interfaces;
  for (const SocketAddress& address : made->options_.addresses)
    interfaces.push_back({"", address, 0});
  RONDO_RETURN_IF_ERROR(made->acceptor_.listen(interfaces, made->options_.ports,
                                               made->options_.token));
  const uint64_t me = made->options_.incarnation;
  made->acceptor_.set_accept([me](Purpose purpose, const Subject& subject) {
    return purpose == Purpose::kLink &&
                   TaskLinkSubject::unpack(subject).target == me
               ? Verdict::kWelcome
               : Verdict::kNotHere;
  });
  made->thread_ = std::thread([server = made.get()] { server->run(); });
  return made;
}

LinkServer::LinkServer(Options options, Serve serve, Gone gone)
    : options_(std::move(options)),
      serve_(std::move(serve)),
      gone_(std::move(gone)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

LinkServer::~LinkServer() { stop(); }

void LinkServer::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  std::map<uint64_t, std::shared_ptr<Connection>> links;
  {
    const MutexLock lock(mutex_);
    links = links_;
  }
  for (auto& [number, link] : links) link->close(stopped());
}

void LinkServer::run() {
  std::vector<pollfd> fds;
  for (;;) {
    fds.assign({{wake_.get(), POLLIN, 0}});
    const int timeout = acceptor_.add_to_poll(fds, kIdlePollMs);
    ::poll(fds.data(), fds.size(), timeout);
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
    }
    acceptor_.serve(std::span<const pollfd>(fds).subspan(1),
                    [this](ServerHandshake& done) { admit(done); });
  }
}

void LinkServer::admit(ServerHandshake& done) {
  const MutexLock lock(mutex_);
  const uint64_t number = next_++;
  // Held meanwhile: the first call may come before this returns.
  links_[number] = Connection::start(
      done.take(),
      {.peer = TaskLinkSubject::unpack(done.subject()).name(),
       .shares_memory = options_.shares_memory,
       .borrows = options_.borrows,
       .copier = options_.copier},
      [this, number](wire::Message message) {
        if (message.kind != wire::Kind::kCall) return;
        std::weak_ptr<Connection> to;
        {
          const MutexLock inner(mutex_);
          if (const auto at = links_.find(number); at != links_.end())
            to = at->second;
        }
        serve_(
            number,
            {message.code, std::move(message.body), std::move(message.tensors)},
            [to, id = message.id](Result<LinkAnswer> answer) {
              const auto link = to.lock();
              if (!link) return;
              wire::Message out{.kind = wire::Kind::kAnswer, .id = id};
              if (answer.ok()) {
                out.body = std::move(answer->body);
                out.tensors = std::move(answer->tensors);
              } else {
                out.code = static_cast<uint32_t>(answer.status().code());
                out.body = answer.status().message();
              }
              link->send(out);
            });
      },
      [this, number](const Status&) {
        gone_(number);
        const MutexLock inner(mutex_);
        links_.erase(number);
      });
}

}  // namespace rondo
