// KvService: what a parameter server knows and does, without its sockets: keeps
// parts of keys, updates them by what workers push, and gives them to workers
// that pull.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/cluster/link.h"
#include "rondo/ps/kv_history.h"
#include "rondo/ps/kv_rules.h"
#include "rondo/ps/members.h"
#include "rondo/ps/stored_part.h"

namespace rondo {

struct KvServiceOptions {
  int server = 0;  // which one of them, from 0
  KvRules rules;   // the same on all servers
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

// Begins with what is in its folder. Thread-safe.
class KvService {
 public:
  static Result<std::unique_ptr<KvService>> open(KvServiceOptions options);
  KvService(const KvService&) = delete;

  // A call that came by this link; `answer` is called once, now or later, on
  // this thread or another that calls one of these methods.
  void serve(uint64_t link, LinkCall call, StoredPart::Answer answer);
  // The link has ended.
  void gone(uint64_t link) { members_.go(link); }
  // To be called again and again: ends waits that are over.
  void look_after();
  // Whether there is a log that should make way for a snapshot.
  bool wants_snapshot() const { return history_ && history_->grown(); }
  Status snapshot();

 private:
  explicit KvService(KvServiceOptions options);
  Status open_history();
  Status restore(KvImage image);
  Status replay(const LogRecord& record);
  KvImage image();
  Status append(KvRecord kind, std::string_view body,
                std::span<const Tensor> payload = {});

  Result<LinkAnswer> hello(uint64_t link, const LinkCall& call);
  Result<LinkAnswer> claim(int worker, const LinkCall& call);
  Result<LinkAnswer> add_part(int worker, const LinkCall& call,
                              StoredPart::Answers& answers);
  Result<LinkAnswer> leave(int worker, StoredPart::Answers& answers);
  Result<LinkAnswer> return_from_leave(int worker);
  Status dispatch(StoredPart::From from, LinkCall& call,
                  StoredPart::Answer& answer, StoredPart::Answers& answers);
  Result<std::shared_ptr<StoredPart>> find_or_add(const kv::AddPart& what);
  // Numbers of the parts of its key that begin next, at or behind its first
  // element and before it: at most one each.
  std::vector<size_t> neighbours(const kv::AddPart& what) const
      RONDO_REQUIRES(mutex_);
  Result<std::shared_ptr<StoredPart>> part(int64_t number);
  std::vector<std::shared_ptr<StoredPart>> parts();

  const KvServiceOptions options_;
  Members members_;
  StoredPart::Log log_;
  std::unique_ptr<KvHistory> history_;  // nullptr: without a folder

  Mutex mutex_;
  uint64_t name_ RONDO_GUARDED_BY(mutex_) = 0;  // of the history
  std::map<std::string, int> claims_ RONDO_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<StoredPart>> parts_ RONDO_GUARDED_BY(mutex_);
  // By key and first element.
  std::map<std::pair<std::string, int64_t>, size_t> numbers_
      RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
