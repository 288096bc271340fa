#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>

#include "rondo/rendezvous/file_store.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/rendezvous/pmi.h"
#include "rondo/rendezvous/store_url.h"
#include "rondo/rendezvous/tcp_store.h"
#include "rondo/rendezvous/tcp_store_client.h"
#include "rondo/transport/handshake.h"
#include "rondo/transport/interfaces.h"

namespace rondo {
namespace {

using StorePtr = std::shared_ptr<Store>;

// How long rank 0 stays for ranks that still use the store it serves.
constexpr Duration kFarewell = std::chrono::seconds(2);

// Rank 0's store when rank 0 serves it: the other ranks can use the store for
// as long as this object is there.
class ServedStore : public Store {
 public:
  ServedStore(std::unique_ptr<TcpStoreServer> server, StorePtr store)
      : server_(std::move(server)), store_(std::move(store)) {}

  ~ServedStore() override {
    store_.reset();  // or rank 0 would wait for itself
    server_->wait_idle(Deadline(kFarewell));
  }

  Status set(const std::string& key, std::string_view value) override {
    return store_->set(key, value);
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    return store_->get(key, deadline);
  }
  Result<int64_t> add(const std::string& key, int64_t amount) override {
    return store_->add(key, amount);
  }
  Status remove(const std::string& key) override { return store_->remove(key); }
  std::string name() const override { return store_->name(); }

 private:
  const std::unique_ptr<TcpStoreServer> server_;
  StorePtr store_;
};

SocketAddress wildcard(int family) {
  return SocketAddress::parse(family == AF_INET6 ? "[::]:0" : "0.0.0.0:0")
      .value();
}

// The addresses to try to listen on. Debian gives a host's own name the address
// 127.0.1.1, which other hosts, where the name means a real address, cannot
// reach: with a token to keep strangers out, every interface is served then.
std::vector<SocketAddress> places_to_serve(
    const std::string& host, const std::string& token,
    const std::vector<SocketAddress>& resolved) {
  const bool is_number = resolved[0].host_string() == host;
  if (resolved[0].is_loopback() && !is_number && host != "localhost" &&
      !token.empty())
    return {wildcard(AF_INET)};
  return resolved;
}

Result<StorePtr> serve_and_connect(const JobEnv& job, const StoreUrl& url,
                                   const TcpStorePlace& place,
                                   Deadline deadline) {
  Status why;
  for (const SocketAddress& address :
       places_to_serve(url.host, job.token, place.addresses)) {
    auto server =
        TcpStoreServer::start(address, {url.port, url.port}, job.token);
    if (!server.ok()) {
      why = server.status();
      continue;
    }
    RONDO_ASSIGN_OR_RETURN(StorePtr store,
                           connect_tcp_store(place, deadline, false));
    return StorePtr(std::make_shared<ServedStore>(std::move(*server), store));
  }
  // Not this host's address, or taken since: whoever has it serves.
  auto store = connect_tcp_store(place, deadline, false);
  if (store.ok()) return store;
  return error(store.status().code(), "{}; rank 0 cannot serve it: {}",
               store.status().message(), why.message());
}

Result<StorePtr> open_tcp(const JobEnv& job, const StoreUrl& url,
                          Deadline deadline) {
  TcpStorePlace place{make_tcp_url(url.host, url.port), {}, job.token};
  auto addresses = SocketAddress::resolve(url.host, url.port);
  if (!addresses.ok())
    return addresses.status().with_context("store " + place.name);
  place.addresses = std::move(*addresses);
  if (job.rank != 0) return connect_tcp_store(place, deadline, false);
  // The launcher serves it, or nobody does yet.
  auto served = connect_tcp_store(place, deadline, true);
  const Code code = served.status().code();
  const bool nobody = code == Code::kTimeout ||
                      (code == Code::kUnavailable &&
                       served.status().message().starts_with("nobody"));
  if (served.ok() || !nobody) return served;
  return serve_and_connect(job, url, place, deadline);
}

Result<StorePtr> open_file(JobEnv& job, const std::string& folder,
                           Deadline deadline) {
  constexpr char kTokenKey[] = "token";
  RONDO_ASSIGN_OR_RETURN(StorePtr store, open_job_file_store(folder, job.size));
  if (!job.token.empty()) return store;
  if (job.rank == 0) {
    // Opened before by this job? Then its token stays.
    auto known = store->get(kTokenKey, Deadline(Duration::zero()));
    job.token = known.ok() ? *known : make_token();
    if (!known.ok()) RONDO_RETURN_IF_ERROR(store->set(kTokenKey, job.token));
  } else {
    RONDO_ASSIGN_OR_RETURN(job.token, store->get(kTokenKey, deadline));
  }
  return store;
}

// "token;address,address,...": as many addresses as PMI can carry.
Result<std::string> describe(const TcpStoreServer& server,
                             const std::string& token) {
  RONDO_ASSIGN_OR_RETURN(auto all, list_interfaces());
  RONDO_ASSIGN_OR_RETURN(auto filter, InterfaceFilter::parse(""));
  RONDO_ASSIGN_OR_RETURN(auto chosen, filter.select(all));
  std::string text = token;
  char separator = ';';
  for (Interface& i : chosen) {
    if (i.address.family() != server.address().family()) continue;
    i.address.set_port(server.address().port());
    const std::string one = separator + i.address.to_string();
    if (text.size() + one.size() > kMaxPmiText) break;
    text += one;
    separator = ',';
  }
  return text;
}

Result<TcpStorePlace> parse_description(const std::string& text) {
  const size_t semicolon = text.find(';');
  if (semicolon == std::string::npos)
    return error(Code::kUnavailable,
                 "rank 0 could not serve the store; its own error says why");
  TcpStorePlace place{"", {}, text.substr(0, semicolon)};
  for (size_t at = semicolon + 1; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    RONDO_ASSIGN_OR_RETURN(SocketAddress address,
                           SocketAddress::parse(text.substr(at, comma - at)));
    place.addresses.push_back(address);
    at = comma + 1;
  }
  if (place.addresses.empty())
    return error(Code::kUnavailable, "rank 0 has no network address");
  place.name = "tcp://" + place.addresses[0].to_string();
  return place;
}

// Rank 0 serves a TCP store on all interfaces and tells where through PMI.
Result<StorePtr> open_through_pmi(JobEnv& job, int fd, Deadline deadline) {
  std::unique_ptr<TcpStoreServer> server;
  std::string text;
  Status failure;
  if (job.rank == 0) {
    const std::string token = job.token.empty() ? make_token() : job.token;
    auto started = TcpStoreServer::start(wildcard(AF_INET), {}, token);
    auto described = started.ok() ? describe(**started, token)
                                  : Result<std::string>(started.status());
    if (described.ok()) {
      server = std::move(*started);
      text = *described;
    } else {
      failure = described.status();
      text = "failed";  // told to all, so that nobody waits
    }
  }
  RONDO_ASSIGN_OR_RETURN(text, pmi_share(fd, job.rank == 0, text, deadline));
  RONDO_RETURN_IF_ERROR(failure);
  RONDO_ASSIGN_OR_RETURN(TcpStorePlace place, parse_description(text));
  RONDO_ASSIGN_OR_RETURN(StorePtr store,
                         connect_tcp_store(place, deadline, false));
  job.token = place.token;
  job.store = place.name;
  if (server == nullptr) return store;
  return StorePtr(std::make_shared<ServedStore>(std::move(server), store));
}

Result<StorePtr> open_pmi(JobEnv& job, int fd, Deadline deadline) {
  // On one host the ranks need no word from PMI, which then stays as it is for
  // an MPI in the same process.
  if (job.local_size == job.size) {
    auto id = pmi_local_job_id(fd);
    if (id.ok()) {
      const std::string folder =
          fmt::format("/tmp/rondo-{}-pmi-{}", ::getuid(), *id);
      auto store = open_file(job, folder, deadline);
      if (store.ok()) job.store = "file://" + folder;
      return store;
    }
  }
  return open_through_pmi(job, fd, deadline);
}

}  // namespace

Result<std::shared_ptr<Store>> open_store(JobEnv& job, Deadline deadline) {
  auto url = StoreUrl::parse(job.store);
  if (!url.ok()) return url.status().with_context("the job's store");
  switch (url->kind) {
    case StoreUrl::Kind::kTcp: return open_tcp(job, *url, deadline);
    case StoreUrl::Kind::kFile: return open_file(job, url->folder, deadline);
    case StoreUrl::Kind::kPmi: return open_pmi(job, url->fd, deadline);
    case StoreUrl::Kind::kMemory: break;
  }
  if (job.size > 1)
    return error(Code::kInvalidArgument,
                 "a store in memory cannot join {} processes", job.size);
  return make_memory_store();
}

}  // namespace rondo
