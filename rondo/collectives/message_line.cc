#include "rondo/collectives/message_line.h"

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

constexpr int kStream = 0;

}  // namespace

Status FrameHeader::check() const {
  if (magic != kMagic)
    return error(Code::kInternal, "the stream is out of step");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;
  if (kind > FrameKind::kWithdrawn || zero != 0 ||
      static_cast<int>(dtype) >= kDTypeCount || count < 0 || count > kMost)
    return error(Code::kInternal, "a frame came that no rank sends");
  return {};
}

void MessageLine::push(const FrameHeader& header, const void* payload,
                       std::function<void()> sent) {
  frames_.push_back(
      {header, static_cast<const char*>(payload), 0, std::move(sent), {}});
}

bool MessageLine::send(bool& moved) {
  while (!frames_.empty()) {
    Frame& frame = frames_.front();
    const size_t payload = frame.header.payload();
    iovec pieces[2];
    size_t n = 0;
    const size_t head = std::min(frame.sent_bytes, sizeof(FrameHeader));
    if (head < sizeof(FrameHeader))
      pieces[n++] = {reinterpret_cast<char*>(&frame.header) + head,
                     sizeof(FrameHeader) - head};
    const size_t body = frame.sent_bytes - head;
    if (body < payload)
      pieces[n++] = {const_cast<char*>(frame.payload) + body, payload - body};
    const ssize_t sent = channel_->send(kStream, {pieces, n});
    if (sent < 0) return false;
    if (sent == 0) return true;
    moved = true;
    frame.sent_bytes += static_cast<size_t>(sent);
    if (frame.sent_bytes < sizeof(FrameHeader) + payload) continue;
    channel_->end_send(kStream);
    auto done = std::move(frame.sent);
    frames_.pop_front();
    if (done) done();
  }
  return true;
}

MessageLine::Taken MessageLine::take_back(uint64_t id) {
  const auto own =
      std::find_if(frames_.begin(), frames_.end(), [id](const Frame& frame) {
        return frame.header.id == id && frame.header.kind != FrameKind::kAccept;
      });
  if (own == frames_.end()) return Taken::kOffered;
  if (own->header.kind == FrameKind::kData) return Taken::kNot;
  if (own->sent_bytes == 0) {
    frames_.erase(own);
    return Taken::kWhole;
  }
  if (own->header.kind == FrameKind::kOffer) return Taken::kOffered;
  own->copy.assign(own->payload, own->payload + own->header.payload());
  own->payload = own->copy.data();
  own->sent = {};
  return Taken::kWhole;
}

Status MessageLine::receive(const Place& place, const Arrived& arrived,
                            bool& moved) {
  for (;;) {
    if (header_bytes_ < sizeof header_) {
      const iovec piece{reinterpret_cast<char*>(&header_) + header_bytes_,
                        sizeof header_ - header_bytes_};
      const ssize_t got = channel_->recv(kStream, {&piece, 1});
      if (got < 0) return channel_->failure();
      if (got == 0) return {};
      moved = true;
      header_bytes_ += static_cast<size_t>(got);
      if (header_bytes_ < sizeof header_) continue;
      RONDO_RETURN_IF_ERROR(header_.check());
      payload_bytes_ = 0;
      into_ = nullptr;
      if (header_.carries()) {
        RONDO_ASSIGN_OR_RETURN(void* into, place(header_));
        into_ = static_cast<char*>(into);
      }
    }
    while (payload_bytes_ < header_.payload()) {
      const iovec piece{into_ + payload_bytes_,
                        header_.payload() - payload_bytes_};
      const ssize_t got = channel_->recv(kStream, {&piece, 1});
      if (got < 0) return channel_->failure();
      if (got == 0) return {};
      moved = true;
      payload_bytes_ += static_cast<size_t>(got);
    }
    channel_->end_recv(kStream);
    header_bytes_ = 0;
    RONDO_RETURN_IF_ERROR(arrived(header_));
  }
}

}  // namespace rondo
