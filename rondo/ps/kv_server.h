// KvServer: a parameter server. Keeps parts of keys, updates them by what
// workers push, and gives them to workers that pull.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/cluster/link.h"
#include "rondo/ps/kv_history.h"
#include "rondo/ps/kv_rules.h"
#include "rondo/ps/members.h"
#include "rondo/ps/stored_part.h"
#include "rondo/rendezvous/store.h"

namespace rondo {

struct KvServerOptions {
  int server = 0;  // which one of them, from 0
  KvRules rules;   // the same on all servers
  std::shared_ptr<Store> store;
  std::string token;
  std::string interface;  // see InterfaceFilter
  PortRange ports;
  bool shares_memory = true;
  // A worker whose connection broke may come back for so long before those who
  // wait for it get an error.
  Duration worker_patience = seconds(5);

  // Where it keeps what it has acknowledged, so that it can be killed and
  // started again; empty: nowhere.
  std::string folder;
  // Acknowledged means on the disk, not only handed to the system: also a
  // machine may crash.
  bool to_disk = false;
  // A snapshot is taken when the log has so many bytes.
  uint64_t snapshot_bytes = uint64_t{1} << 30;
};

// What it knows is of no use without its folder; with it, a server that is
// killed and started again goes on where it was, and workers find it again
// through the store. Work is done on the threads of the workers' links.
class KvServer {
 public:
  static Result<std::unique_ptr<KvServer>> start(KvServerOptions options);
  ~KvServer();
  KvServer(const KvServer&) = delete;

  const std::vector<SocketAddress>& addresses() const {
    return links_->addresses();
  }
  // The names in the store by which workers find servers.
  static std::string store_key(int server);

 private:
  explicit KvServer(KvServerOptions options);
  Status open_history();
  Status listen();
  Status restore(KvImage image);
  Status replay(const LogRecord& record);
  KvImage image();
  Status append(KvRecord kind, std::string_view body,
                std::span<const Tensor> payload = {});

  void serve(uint64_t link, LinkCall call, StoredPart::Answer answer);
  Result<LinkAnswer> hello(uint64_t link, const LinkCall& call);
  Result<LinkAnswer> claim(int worker, const LinkCall& call);
  Result<LinkAnswer> add_part(int worker, const LinkCall& call,
                              StoredPart::Answers& answers);
  Result<LinkAnswer> leave(int worker, StoredPart::Answers& answers);
  Status dispatch(StoredPart::From from, LinkCall& call,
                  StoredPart::Answer& answer, StoredPart::Answers& answers);
  Result<std::shared_ptr<StoredPart>> find_or_add(const kv::AddPart& what);
  Result<std::shared_ptr<StoredPart>> part(int64_t number);
  std::vector<std::shared_ptr<StoredPart>> parts();
  // Each the work of a thread.
  void look_after();
  void take_snapshots();

  const KvServerOptions options_;
  Members members_;
  StoredPart::Log log_;
  std::unique_ptr<KvHistory> history_;  // nullptr: without a folder

  Mutex mutex_;
  CondVar stop_;
  bool stopping_ RONDO_GUARDED_BY(mutex_) = false;
  uint64_t name_ RONDO_GUARDED_BY(mutex_) = 0;  // of the history
  std::map<std::string, int> claims_ RONDO_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<StoredPart>> parts_ RONDO_GUARDED_BY(mutex_);
  // By key and first element.
  std::map<std::pair<std::string, int64_t>, size_t> numbers_
      RONDO_GUARDED_BY(mutex_);

  std::unique_ptr<LinkServer> links_;
  std::thread thread_;
  std::thread snapshots_;
};

}  // namespace rondo
