// LogFile: records, one behind the other, in a file that only grows.
//
//   record = front, body, payload
//   front  = u32 checksum of "RLOG" and the rest of the front, u32 kind,
//            u32 checksum of body and payload, u32 bytes of body,
//            u64 bytes of payload                          (little endian)
//
// Checksums are CRC-32C. A process that is killed leaves at most its last
// record half written, a machine that crashes perhaps zeros in place of it; who
// reads the log stops there. A front has a checksum of its own, so that a
// damaged length is not taken for a record that was cut off.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/mutex.h"
#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

constexpr uint64_t kLogFrontBytes = 24;

struct LogRecord {
  uint32_t kind = 0;
  std::string body;
  Tensor payload;  // u8
};

// Thread-safe.
class LogFile {
 public:
  // A new file; an error when there is one. `to_disk`: append() returns once
  // the record is on the disk; else once the system has it, which outlives this
  // process, but not the machine.
  static Result<std::unique_ptr<LogFile>> create(const std::string& path,
                                                 bool to_disk);
  ~LogFile();
  LogFile(const LogFile&) = delete;

  // One record, whose payload is these tensors' elements. The first failure
  // stays: what comes behind half a record would be lost.
  Status append(uint32_t kind, std::string_view body,
                std::span<const Tensor> payload);
  uint64_t bytes() const;

 private:
  LogFile(std::string path, int file, bool to_disk)
      : path_(std::move(path)), file_(file), to_disk_(to_disk) {}
  Status write(std::string_view front, std::span<const Tensor> payload)
      RONDO_REQUIRES(mutex_);

  const std::string path_;
  const int file_;
  const bool to_disk_;
  mutable Mutex mutex_;
  uint64_t bytes_ RONDO_GUARDED_BY(mutex_) = 0;
  Status failure_ RONDO_GUARDED_BY(mutex_);
};

// The names in a folder are on the disk when this returns.
Status sync_folder(const std::string& folder);

// Hands each whole record to `take`, and cuts the file off behind the last.
Status read_log(const std::string& path,
                const std::function<Status(LogRecord)>& take);

}  // namespace rondo
