#include "rondo/launch/frame.h"

namespace rondo {
namespace {

constexpr size_t kHeader = 12;

}  // namespace

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(value >> shift & 0xff);
}

uint32_t get_u32(std::string_view bytes) {
  if (bytes.size() < 4) return 0;
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string encode_frame(FrameType type, int rank, std::string_view payload,
                         Stream stream) {
  std::string out;
  out.reserve(kHeader + payload.size() + 1);
  out += static_cast<char>(type);
  out += static_cast<char>(stream);
  out += {'\0', '\0'};
  put_u32(out, static_cast<uint32_t>(rank));
  put_u32(out, static_cast<uint32_t>(payload.size()));
  out += payload;
  out += '\n';
  return out;
}

void FrameReader::feed(std::string_view bytes) {
  buffer_.erase(0, start_);
  start_ = 0;
  buffer_ += bytes;
}

Result<bool> FrameReader::next(Frame* frame) {
  const std::string_view bytes = std::string_view(buffer_).substr(start_);
  if (bytes.size() < kHeader) return false;
  const auto type = static_cast<uint8_t>(bytes[0]);
  const auto stream = static_cast<uint8_t>(bytes[1]);
  const uint32_t rank = get_u32(bytes.substr(4));
  const uint32_t length = get_u32(bytes.substr(8));
  constexpr auto kLast = static_cast<uint8_t>(FrameType::kRestarted);
  const bool known = type >= 1 && type <= kLast &&
                     (stream == 1 || stream == 2) && bytes[2] == 0 &&
                     bytes[3] == 0;
  if (!known || rank > 0x7fffffff || length > kMaxFramePayload)
    return error(Code::kInternal, "bytes that are not from a rondo agent");
  if (bytes.size() < kHeader + length + 1) return false;
  if (bytes[kHeader + length] != '\n')
    return error(Code::kInternal, "a frame of a rondo agent is damaged");
  frame->type = static_cast<FrameType>(type);
  frame->stream = static_cast<Stream>(stream);
  frame->rank = static_cast<int>(rank);
  frame->payload = bytes.substr(kHeader, length);
  start_ += kHeader + length + 1;
  return true;
}

}  // namespace rondo
