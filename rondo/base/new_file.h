// NewFile: a file that is there whole, or as it was before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rondo/base/status.h"

namespace rondo {

// Written beside its place, synced, and renamed by commit(). Without that, or
// when something fails, what was at the path before stays as it is. Where the
// file system can, the file has no name before it is whole, so that a process
// that is killed leaves nothing behind.
class RONDO_API NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // The first failure is kept and is what all later calls return.
  Status write(const void* data, size_t bytes);
  // Over what was written there before.
  Status overwrite(uint64_t offset, const void* data, size_t bytes);
  Status commit();

 private:
  Status fail(int err, const char* what);

  const std::string path_;
  std::string folder_;     // of path_, with a slash behind it
  std::string temporary_;  // its name before commit(); empty: it has none
  int file_ = -1;
  Status status_;
};

// What kind of failure an errno of a file is.
RONDO_API Code file_error_code(int err);

}  // namespace rondo
