// Frames, calls and timelines of links, as decoders: a call that is understood
// is also written the same way again.
#include <cstdlib>

#include "rondo/cluster/part_io.h"
#include "rondo/cluster/session_call.h"
#include "rondo/cluster/timeline_io.h"
#include "rondo/cluster/wire.h"

using namespace rondo;

namespace {

constexpr size_t kHeapBytes = 1 << 20;

void frame(std::string_view bytes) {
  const auto header = wire::decode_header(bytes.substr(0, wire::kHeaderBytes));
  if (!header.ok()) return;
  bytes.remove_prefix(wire::kHeaderBytes);
  const auto head = wire::decode_head(*header, bytes, kHeapBytes);
  if (!head.ok()) return;
  size_t tail = 0;
  for (const wire::TensorPlace& place : head->tensors) {
    if (!place.mapped)
      tail += place.bytes;
    else if (place.offset + place.bytes > kHeapBytes)
      std::abort();
    if (static_cast<size_t>(place.shape.count()) * size_of(place.dtype) !=
        place.bytes)
      std::abort();
  }
  if (tail != header->tail_bytes) std::abort();
}

void call(std::string_view bytes) {
  const auto what = SessionCall::decode(bytes);
  if (what.ok() && what->encode() != bytes) std::abort();
}

void timeline(std::string_view bytes) {
  Timeline all;
  if (add_timeline(bytes_tensor(bytes), 0, all).ok()) (void)all.to_json();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  frame(text);
  call(text);
  timeline(text);
  return 0;
}
