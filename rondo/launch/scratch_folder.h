// ScratchFolder: a folder of its own for a job's processes on one host, which
// goes with the job.
#pragma once

#include <string>
#include <utility>

#include "rondo/base/status.h"

namespace rondo {

class ScratchFolder {
 public:
  // None.
  ScratchFolder() = default;
  // Within `parent`, for this user only; the name is nobody else's.
  static Result<ScratchFolder> make(const std::string& parent);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(other.release()) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder() { remove(); }

  // With all that is in it.
  void remove();
  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string release() { return std::exchange(path_, std::string()); }

  std::string path_;
};

}  // namespace rondo
