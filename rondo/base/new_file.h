// NewFile: a file that is there whole, or as it was before.
#pragma once

#include <cstddef>
#include <string>

#include "rondo/base/status.h"

namespace rondo {

// Written beside its place, synced, and renamed by commit(). Without that, or
// when something fails, what was at the path before stays as it is.
class RONDO_API NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // The first failure is kept and is what all later calls return.
  Status write(const void* data, size_t bytes);
  Status commit();

 private:
  Status fail(int err, const char* what);

  const std::string path_;
  std::string temporary_;
  int file_ = -1;
  Status status_;
};

}  // namespace rondo
