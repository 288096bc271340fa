#include "rondo/ps/kv_server.h"

#include <unistd.h>

#include "rondo/base/attempt.h"
#include "rondo/base/log.h"
#include "rondo/rendezvous/job_server.h"
#include "rondo/transport/card.h"
#include "rondo/transport/handshake.h"
#include "rondo/transport/interfaces.h"

namespace rondo {
namespace {

// How often somebody looks for waits that are over.
constexpr Duration kLook = std::chrono::milliseconds(50);
// After a snapshot that could not be written.
constexpr Duration kRetry = std::chrono::seconds(10);

}  // namespace

std::string KvServer::store_key(int server) { return job_server_key(server); }

Result<std::unique_ptr<KvServer>> KvServer::start(
    const KvServerOptions& options) {
  if (!options.store)
    return error(Code::kInvalidArgument, "a parameter server needs a store");
  RONDO_ASSIGN_OR_RETURN(auto service, KvService::open(options));
  std::unique_ptr<KvServer> made(new KvServer(std::move(service)));
  RONDO_RETURN_IF_ERROR(made->listen(options));
  KvServer* server = made.get();
  made->thread_ = std::thread([server] { server->look_after(); });
  if (!options.folder.empty())
    made->snapshots_ = std::thread(
        [server, number = options.server] { server->take_snapshots(number); });
  return made;
}

KvServer::~KvServer() {
  if (links_) links_->stop();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    stop_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (snapshots_.joinable()) snapshots_.join();
}

Status KvServer::listen(const KvServerOptions& options) {
  LinkServer::Options links{.ports = options.ports,
                            .token = options.token,
                            .incarnation = random_u64(),
                            .shares_memory = options.shares_memory,
                            .borrows = true};
  // Nobody but loopback peers would be let in without a token.
  RONDO_ASSIGN_OR_RETURN(
      auto filter,
      InterfaceFilter::parse(options.token.empty() && options.interface.empty()
                                 ? "127.0.0.0/8"
                                 : options.interface));
  RONDO_ASSIGN_OR_RETURN(const auto all, list_interfaces());
  RONDO_ASSIGN_OR_RETURN(const auto chosen, filter.select(all));
  for (const Interface& one : chosen) links.addresses.push_back(one.address);
  const uint64_t incarnation = links.incarnation;
  RONDO_ASSIGN_OR_RETURN(
      links_,
      LinkServer::start(
          std::move(links),
          [this](uint64_t link, LinkCall call, LinkServer::Answer answer) {
            service_->serve(link, std::move(call), std::move(answer));
          },
          [this](uint64_t link) { service_->gone(link); }));
  Card card;
  card.nonce = incarnation;
  card.pid = getpid();
  card.host = host_name();
  card.boot = boot_identity();
  card.cpus = usable_cpus();
  card.addresses = links_->addresses();
  return options.store->set(store_key(options.server), card.to_string());
}

void KvServer::look_after() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      stop_.wait_for(mutex_, kLook);
      if (stopping_) return;
    }
    service_->look_after();
  }
}

// Apart from look_after(): an image of many bytes takes seconds, and waits are
// to end meanwhile.
void KvServer::take_snapshots(int server) {
  Duration pause = kLook;
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const Deadline next(pause);
      while (!stopping_ && !next.passed()) stop_.wait_for(mutex_, next.left());
      if (stopping_) return;
    }
    pause = kLook;
    if (!service_->wants_snapshot()) continue;
    const Status status = attempt([&] { return service_->snapshot(); });
    if (status.ok()) continue;
    // The logs are all there still, so it is tried again later.
    pause = kRetry;
    log(LogLevel::kWarning,
        "parameter server {} could not write a snapshot: {}", server,
        status.message());
  }
}

}  // namespace rondo
