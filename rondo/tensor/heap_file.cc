#include "rondo/tensor/heap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace rondo {
namespace {

// Since Linux 6.3; some systems insist on it.
#ifndef MFD_NOEXEC_SEAL
constexpr unsigned MFD_NOEXEC_SEAL = 8;
#endif

int make_memfd() {
  const int fd = memfd_create("rondo-heap", MFD_CLOEXEC);
  if (fd >= 0 || errno != EACCES) return fd;
  return memfd_create("rondo-heap", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
}

uint64_t make_nonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) == sizeof(nonce)) return nonce;
  // Only meant to tell one file from another, so the time and the process do.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<uint64_t>(now) * 0x9e3779b97f4a7c15u ^
         static_cast<uint64_t>(getpid());
}

// In whole pages.
size_t half(size_t bytes) { return bytes / 2 / 4096 * 4096; }

size_t halve_to_fit(size_t bytes, rlim_t most) {
  while (bytes > most) bytes = half(bytes);
  return bytes;
}

rlim_t soft_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return RLIM_INFINITY;
  return limit.rlim_cur;
}

// Makes the file `bytes` long and maps it. False, with errno, when refused.
bool map_whole(HeapFile& file, size_t bytes) {
  if (ftruncate(file.fd, static_cast<off_t>(bytes)) != 0) return false;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, file.fd, 0);
  if (at == MAP_FAILED) return false;
  file.base = static_cast<char*>(at);
  file.bytes = bytes;
  return true;
}

}  // namespace

size_t wanted_heap_bytes() {
  const auto pages = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t unit = kLeastHeapBytes;
  return (pages * page + unit - 1) / unit * unit;
}

Result<HeapFile> make_heap_file(size_t bytes) {
  // Going beyond the limit on file sizes would raise SIGXFSZ, which ends the
  // process. Of a limited address space the heap takes at most a quarter: the
  // rest of the program and the heaps of peers need room too.
  bytes = halve_to_fit(bytes, soft_limit(RLIMIT_FSIZE));
  bytes = halve_to_fit(bytes, soft_limit(RLIMIT_AS) / 4);
  if (bytes < kLeastHeapBytes)
    return error(Code::kResource,
                 "a shared heap needs files of {} bytes and an address space "
                 "of four times that; raise ulimit -f or -v",
                 kLeastHeapBytes);
  HeapFile file;
  file.fd = make_memfd();
  if (file.fd < 0) return errno_error(Code::kResource, errno, "memfd_create");
  int refused = 0;
  for (; bytes >= kLeastHeapBytes; bytes = half(bytes)) {
    if (!map_whole(file, bytes)) {
      refused = errno;
      continue;
    }
    // Where the system leaves huge pages in shared memory to the program.
    madvise(file.base, file.bytes, MADV_HUGEPAGE);
    file.nonce = make_nonce();
    std::memcpy(file.base, &file.nonce, sizeof(file.nonce));
    return file;
  }
  close(file.fd);
  return errno_error(Code::kResource, refused, "mapping the shared heap");
}

}  // namespace rondo
