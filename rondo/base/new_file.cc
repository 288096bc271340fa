#include "rondo/base/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace rondo {
namespace {

// The most bytes of one write: the kernel takes no more than 2 GiB at once.
constexpr size_t kMost = 1 << 30;

std::string temporary_name(const std::string& path) {
  // Other threads and processes may write the same file.
  static std::atomic<int> number = 0;
  return fmt::format("{}.new-{}-{}", path, ::getpid(), number++);
}

std::string link_of(int file) { return fmt::format("/proc/self/fd/{}", file); }

// A file without a name, which link_of() later gives one; -1: not here.
int open_nameless(const std::string& folder) {
  const int file =
      ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file < 0 || ::access(link_of(file).c_str(), F_OK) == 0) return file;
  ::close(file);
  return -1;
}

}  // namespace

Code file_error_code(int err) {
  switch (err) {
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermission;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL: return Code::kInvalidArgument;
    default: return Code::kResource;
  }
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  const size_t slash = path_.rfind('/');
  folder_ = slash == std::string::npos ? "./" : path_.substr(0, slash + 1);
  file_ = open_nameless(folder_);
  if (file_ >= 0) return;
  temporary_ = temporary_name(path_);
  file_ =
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ >= 0) return;
  const int err = errno;
  if (err == ENOENT && ::access(folder_.c_str(), F_OK) != 0)
    status_ = error(Code::kInvalidArgument,
                    "cannot write {}: there is no folder {}; make it first",
                    path_, folder_);
  else
    (void)fail(err, "cannot create");
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status NewFile::fail(int err, const char* what) {
  status_ =
      errno_error(file_error_code(err), err, fmt::format("{} {}", what, path_));
  return status_;
}

Status NewFile::write(const void* data, size_t bytes) {
  if (!status_.ok()) return status_;
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(file_, at, std::min(bytes, kMost));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, "cannot write");
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status NewFile::overwrite(uint64_t offset, const void* data, size_t bytes) {
  if (!status_.ok()) return status_;
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n =
        ::pwrite(file_, at, std::min(bytes, kMost), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, "cannot write");
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status NewFile::commit() {
  if (!status_.ok()) return status_;
  if (::fsync(file_) != 0) return fail(errno, "cannot sync");
  if (temporary_.empty()) {
    // A link cannot take the place of another file; a rename can.
    std::string name = temporary_name(path_);
    if (::linkat(AT_FDCWD, link_of(file_).c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) != 0)
      return fail(errno, "cannot give its name to");
    temporary_ = std::move(name);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail(errno, "cannot put a new file in the place of");
  temporary_.clear();
  // The name itself is on disk once its folder is; not all file systems can.
  const int at = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at >= 0) {
    (void)::fsync(at);
    ::close(at);
  }
  return {};
}

}  // namespace rondo
