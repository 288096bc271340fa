// KvServer: a parameter server: a KvService that workers reach by links.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/ps/kv_service.h"
#include "rondo/rendezvous/store.h"

namespace rondo {

struct KvServerOptions : KvServiceOptions {
  std::shared_ptr<Store> store;
  std::string token;
  std::string interface;  // see InterfaceFilter
  PortRange ports;
  bool shares_memory = true;
};

// What it knows is of no use without its folder; with it, a server that is
// killed and started again goes on where it was, and workers find it again
// through the store. Work is done on the threads of the workers' links.
class KvServer {
 public:
  static Result<std::unique_ptr<KvServer>> start(
      const KvServerOptions& options);
  ~KvServer();
  KvServer(const KvServer&) = delete;

  const std::vector<SocketAddress>& addresses() const {
    return links_->addresses();
  }
  // The names in the store by which workers find servers.
  static std::string store_key(int server);

 private:
  explicit KvServer(std::unique_ptr<KvService> service)
      : service_(std::move(service)) {}
  Status listen(const KvServerOptions& options);
  // Each the work of a thread.
  void look_after();
  void take_snapshots(int server);

  const std::unique_ptr<KvService> service_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ RONDO_GUARDED_BY(mutex_) = false;
  std::unique_ptr<LinkServer> links_;
  std::thread thread_;
  std::thread snapshots_;
};

}  // namespace rondo
