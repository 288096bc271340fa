#include "rondo/base/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace rondo {

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  // Other threads and processes may write the same file.
  static std::atomic<int> number = 0;
  temporary_ = fmt::format("{}.new-{}-{}", path_, ::getpid(), number++);
  file_ =
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) (void)fail(errno, "cannot create");
}

NewFile::~NewFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

Status NewFile::fail(int err, const char* what) {
  status_ =
      errno_error(Code::kResource, err, fmt::format("{} {}", what, temporary_));
  return status_;
}

Status NewFile::write(const void* data, size_t bytes) {
  if (!status_.ok()) return status_;
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(file_, at, std::min<size_t>(bytes, 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, "cannot write to");
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status NewFile::commit() {
  if (!status_.ok()) return status_;
  if (::fsync(file_) != 0) return fail(errno, "cannot sync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return errno_error(
        Code::kResource, errno,
        fmt::format("cannot rename {} to {}", temporary_, path_));
  ::close(file_);
  file_ = -1;
  // The name itself is on disk once its folder is; not all file systems can.
  const size_t slash = path_.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at >= 0) {
    (void)::fsync(at);
    ::close(at);
  }
  return {};
}

}  // namespace rondo
