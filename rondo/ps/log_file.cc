#include "rondo/ps/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "rondo/base/crc32c.h"
#include "rondo/base/new_file.h"
#include "rondo/transport/socket.h"

namespace rondo {
namespace {

struct Front {
  uint32_t front_checksum = 0;
  uint32_t kind = 0;
  uint32_t checksum = 0;
  uint32_t body_bytes = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(Front) == kLogFrontBytes);

uint32_t checksum_of(const Front& front) {
  const size_t skip = sizeof front.front_checksum;
  return crc32c(reinterpret_cast<const char*>(&front) + skip,
                sizeof front - skip, crc32c("RLOG", 4));
}

uint32_t checksum_of(std::string_view body, std::span<const Tensor> payload) {
  uint32_t sum = crc32c(body.data(), body.size());
  for (const Tensor& tensor : payload)
    sum = crc32c(tensor.data(), tensor.bytes(), sum);
  return sum;
}

Status failed(int err, std::string_view what, const std::string& path) {
  return errno_error(file_error_code(err), err,
                     fmt::format("cannot {} the log {}", what, path));
}

Status damaged(const std::string& path, uint64_t at) {
  return error(Code::kInvalidArgument,
               "the log {} is damaged at byte {}: what a parameter server "
               "acknowledged behind that is lost\n  do: move its folder away "
               "and start again from a checkpoint",
               path, at);
}

// False at the end of the file.
Result<bool> read_at(int file, const std::string& path, uint64_t at, void* to,
                     size_t bytes) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(file, out, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno, "read", path);
    if (n == 0) return false;
    out += n;
    at += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

// Whether there is nothing but zeros from here on.
Result<bool> zeros(int file, const std::string& path, uint64_t at,
                   uint64_t end) {
  std::vector<char> some(1 << 16);
  for (; at < end; at += some.size()) {
    some.resize(std::min<uint64_t>(some.size(), end - at));
    RONDO_ASSIGN_OR_RETURN(const bool whole,
                           read_at(file, path, at, some.data(), some.size()));
    if (!whole ||
        std::any_of(some.begin(), some.end(), [](char c) { return c != 0; }))
      return false;
  }
  return true;
}

}  // namespace

Status sync_folder(const std::string& folder) {
  const Fd opened(::open(folder.empty() ? "." : folder.c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || ::fsync(opened.get()) != 0)
    return errno_error(file_error_code(errno), errno,
                       fmt::format("cannot sync the folder {}", folder));
  return {};
}

Result<std::unique_ptr<LogFile>> LogFile::create(const std::string& path,
                                                 bool to_disk) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed(errno, "create", path);
  std::unique_ptr<LogFile> made(new LogFile(path, file, to_disk));
  if (!to_disk) return made;
  // Its name, too, is on the disk then.
  if (const Status status = sync_folder(path.substr(0, path.rfind('/') + 1));
      !status.ok()) {
    // Else nobody could create it again.
    ::unlink(path.c_str());
    return status;
  }
  return made;
}

LogFile::~LogFile() { ::close(file_); }

uint64_t LogFile::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

Status LogFile::append(uint32_t kind, std::string_view body,
                       std::span<const Tensor> payload) {
  Front front;
  front.kind = kind;
  front.body_bytes = static_cast<uint32_t>(body.size());
  for (const Tensor& tensor : payload) front.payload_bytes += tensor.bytes();
  front.checksum = checksum_of(body, payload);
  front.front_checksum = checksum_of(front);
  std::string begin(reinterpret_cast<const char*>(&front), sizeof front);
  begin += body;
  const MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = write(begin, payload);
  return failure_;
}

Status LogFile::write(std::string_view front, std::span<const Tensor> payload) {
  std::vector<iovec> pieces;
  pieces.push_back({const_cast<char*>(front.data()), front.size()});
  for (const Tensor& tensor : payload)
    if (tensor.bytes() > 0)
      pieces.push_back({const_cast<void*>(tensor.data()), tensor.bytes()});
  for (size_t at = 0; at < pieces.size();) {
    const ssize_t n = ::writev(file_, pieces.data() + at,
                               static_cast<int>(pieces.size() - at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno, "write", path_);
    bytes_ += static_cast<uint64_t>(n);
    auto left = static_cast<size_t>(n);
    while (at < pieces.size() && left >= pieces[at].iov_len)
      left -= pieces[at++].iov_len;
    if (left == 0) continue;
    pieces[at].iov_base = static_cast<char*>(pieces[at].iov_base) + left;
    pieces[at].iov_len -= left;
  }
  if (to_disk_ && ::fdatasync(file_) != 0) return failed(errno, "write", path_);
  return {};
}

Status read_log(const std::string& path,
                const std::function<Status(LogRecord)>& take) {
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0)
    return failed(errno, "open", path);
  const auto end = static_cast<uint64_t>(about.st_size);
  uint64_t at = 0;
  while (end - at >= sizeof(Front)) {
    Front front;
    RONDO_ASSIGN_OR_RETURN(bool whole,
                           read_at(file.get(), path, at, &front, sizeof front));
    if (!whole || checksum_of(front) != front.front_checksum) {
      RONDO_ASSIGN_OR_RETURN(const bool unwritten,
                             zeros(file.get(), path, at, end));
      if (!unwritten) return damaged(path, at);
      break;
    }
    const uint64_t left = end - at - sizeof front;
    if (front.body_bytes > left ||
        front.payload_bytes > left - front.body_bytes)
      break;
    LogRecord record{
        front.kind, std::string(front.body_bytes, '\0'),
        Tensor::empty({static_cast<int64_t>(front.payload_bytes)}, DType::kU8)};
    const uint64_t body = at + sizeof front;
    const uint64_t payload = body + front.body_bytes;
    RONDO_ASSIGN_OR_RETURN(whole,
                           read_at(file.get(), path, body, record.body.data(),
                                   record.body.size()));
    RONDO_ASSIGN_OR_RETURN(const bool all,
                           read_at(file.get(), path, payload,
                                   record.payload.data(), front.payload_bytes));
    const uint64_t next = payload + front.payload_bytes;
    if (!whole || !all ||
        checksum_of(record.body, {&record.payload, 1}) != front.checksum) {
      // Only the last record may be half written.
      if (next != end) return damaged(path, at);
      break;
    }
    RONDO_RETURN_IF_ERROR(take(std::move(record)));
    at = next;
  }
  if (at != end && ::ftruncate(file.get(), static_cast<off_t>(at)) != 0)
    return failed(errno, "cut off the end of", path);
  return {};
}

}  // namespace rondo
