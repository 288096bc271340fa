// KvHistory: the folder in which a parameter server keeps what it has
// acknowledged: snapshots, and a log of what came after each.
//
//   snapshot-<n>  a KvImage, whole or not there
//   log-<n>       what happened since; log-0 begins with nothing
//
// To begin again: the last snapshot, then its log and all later ones. A record
// that the snapshot contains already is known by its version.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "rondo/base/mutex.h"
#include "rondo/ps/kv_image.h"
#include "rondo/transport/socket.h"

namespace rondo {

// Thread-safe.
class KvHistory {
 public:
  struct Options {
    std::string folder;
    bool to_disk = false;  // see LogFile
    uint64_t snapshot_bytes = uint64_t{1} << 30;
  };
  using Restore = std::function<Status(KvImage)>;
  using Replay = std::function<Status(LogRecord)>;
  // Makes the folder if need be, hands out what is in it, and begins a new log.
  static Result<std::unique_ptr<KvHistory>> open(Options options,
                                                 const Restore& restore,
                                                 const Replay& replay);

  Status append(KvRecord kind, std::string_view body,
                std::span<const Tensor> payload = {});
  // Whether the log has grown so long that a snapshot should take its place.
  bool grown() const;
  // Begins a new log, takes an image, writes it, and removes what is older.
  Status snapshot(const std::function<KvImage()>& image);

 private:
  explicit KvHistory(Options options) : options_(std::move(options)) {}
  std::string path(std::string_view what, int64_t number) const;
  Status read(const Restore& restore, const Replay& replay);
  Status begin_log(int64_t number);
  void remove_before(int64_t number) const;

  const Options options_;
  Fd lock_;  // held while this process uses the folder
  mutable Mutex mutex_;
  int64_t number_ RONDO_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<LogFile> log_ RONDO_GUARDED_BY(mutex_);
  std::atomic<uint64_t> bytes_{0};  // of logs, since the last snapshot
};

}  // namespace rondo
