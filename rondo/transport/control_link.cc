#include "rondo/transport/control_link.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rondo {
namespace {

struct Header {
  uint32_t type;
  uint32_t bytes;
  uint64_t group;
  uint64_t argument;
};
static_assert(sizeof(Header) == 24);

}  // namespace

Status ControlLink::send(const ControlFrame& frame) {
  const Header header{static_cast<uint32_t>(frame.type),
                      static_cast<uint32_t>(frame.payload.size()), frame.group,
                      frame.argument};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += frame.payload;
  MutexLock lock(send_mutex_);
  Status status = send_all(fd_.get(), bytes, Deadline(seconds(1)));
  // Half a frame may be out: end the link, so that both readers see its loss.
  if (!status.ok()) shutdown(fd_.get(), SHUT_RDWR);
  return status;
}

Status ControlLink::receive(const std::function<void(ControlFrame)>& sink) {
  for (;;) {
    char chunk[16384];
    const ssize_t n = ::recv(fd_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (n < 0) return errno_error(Code::kPeerLost, errno, "control connection");
    if (n == 0)
      return error(Code::kPeerLost, "control connection: closed by the peer");
    buffer_.append(chunk, static_cast<size_t>(n));
    size_t at = 0;
    while (buffer_.size() - at >= sizeof(Header)) {
      Header header;
      std::memcpy(&header, buffer_.data() + at, sizeof header);
      if (header.bytes > kMaxControlBytes)
        return error(Code::kPeerLost,
                     "control connection: a frame claims {} bytes",
                     header.bytes);
      if (buffer_.size() - at < sizeof header + header.bytes) break;
      sink({static_cast<ControlType>(header.type), header.group,
            header.argument, buffer_.substr(at + sizeof header, header.bytes)});
      at += sizeof header + header.bytes;
    }
    buffer_.erase(0, at);
  }
}

}  // namespace rondo
