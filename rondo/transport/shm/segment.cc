#include "rondo/transport/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "rondo/base/mutex.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

// The segments that this process owns, for ranks that are its threads.
struct OwnSegments {
  Mutex mutex;
  std::map<uint64_t, std::weak_ptr<Segment>> by_nonce RONDO_GUARDED_BY(mutex);
};

OwnSegments& own_segments() {
  static auto* segments = new OwnSegments;
  return *segments;
}

// A memfd of `bytes` bytes, or -1. Checks RLIMIT_FSIZE first: growing past it
// raises a signal.
int make_memfd(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return -1;
  const int fd = memfd_create("rondo", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

uint64_t process_nonce() {
  // Chosen anew in a forked child: a child is another process.
  static Mutex mutex;
  static pid_t pid RONDO_GUARDED_BY(mutex) = 0;
  static uint64_t nonce RONDO_GUARDED_BY(mutex) = 0;
  MutexLock lock(mutex);
  if (pid != getpid()) {
    pid = getpid();
    nonce = random_u64();
  }
  return nonce;
}

SegmentHandle Segment::handle_of(int fd, uint64_t nonce, size_t bytes) {
  return {.process = process_nonce(),
          .nonce = nonce,
          .bytes = bytes,
          .pid = getpid(),
          .fd = fd};
}

Result<std::shared_ptr<Segment>> Segment::create(size_t bytes) {
  const int fd = make_memfd(bytes);
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    flags | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    const int err = errno;
    if (fd >= 0) close(fd);
    return errno_error(Code::kResource, err,
                       fmt::format("cannot map {} bytes of memory", bytes));
  }
  std::shared_ptr<Segment> segment(new Segment);
  segment->data_ = static_cast<char*>(data);
  segment->bytes_ = bytes;
  segment->fd_ = fd;
  segment->owner_ = true;
  segment->handle_ = handle_of(fd, random_u64(), bytes);
  std::memcpy(segment->data_, &segment->handle_.nonce, sizeof(uint64_t));
  OwnSegments& own = own_segments();
  MutexLock lock(own.mutex);
  own.by_nonce[segment->handle_.nonce] = segment;
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::attach(const SegmentHandle& handle) {
  if (handle.process == process_nonce()) {
    OwnSegments& own = own_segments();
    MutexLock lock(own.mutex);
    auto it = own.by_nonce.find(handle.nonce);
    if (it != own.by_nonce.end())
      if (auto segment = it->second.lock()) return segment;
  }
  if (handle.fd < 0)
    return error(Code::kUnavailable, "pid {} has no shareable memory",
                 handle.pid);
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.pid, handle.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return errno_error(Code::kUnavailable, errno, "cannot open " + path);
  struct stat info {};
  uint64_t nonce = 0;
  const bool right = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                     static_cast<uint64_t>(info.st_size) >= handle.bytes &&
                     pread(fd, &nonce, sizeof nonce, 0) == sizeof nonce &&
                     nonce == handle.nonce;
  if (!right) {
    close(fd);
    return error(Code::kUnavailable, "{} is not the peer's memory", path);
  }
  void* data = mmap(nullptr, handle.bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
  const int err = errno;
  close(fd);
  if (data == MAP_FAILED)
    return errno_error(Code::kResource, err, "cannot map " + path);
  // A core file need not hold the peers' memory too.
  madvise(data, handle.bytes, MADV_DONTDUMP);
  std::shared_ptr<Segment> segment(new Segment);
  segment->data_ = static_cast<char*>(data);
  segment->bytes_ = handle.bytes;
  segment->handle_ = handle;
  return segment;
}

Segment::~Segment() {
  if (owner_) {
    OwnSegments& own = own_segments();
    MutexLock lock(own.mutex);
    own.by_nonce.erase(handle_.nonce);
  }
  if (data_ != nullptr) munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace rondo
