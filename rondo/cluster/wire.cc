#include "rondo/cluster/wire.h"

#include <bit>
#include <cstring>

#include "rondo/tensor/heap.h"

namespace rondo::wire {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "RLNK";
constexpr uint8_t kInline = 0, kInHeap = 1;
constexpr int kMostRank = 64;

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

Status damaged(std::string_view what) {
  return error(Code::kInvalidArgument,
               "a frame that makes no sense came from the peer: {}", what);
}

// The bytes of a tensor of this type, unless that overflows or no heap could
// hold it.
Result<size_t> bytes_of(DType dtype, std::span<const int64_t> extents) {
  size_t bytes = size_of(dtype);
  bool none = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return damaged("a negative extent");
    if (extent == 0)
      none = true;
    else if (__builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes))
      return damaged("a tensor larger than memory");
  }
  const size_t most = SharedHeap::process().bytes();
  if (none) return size_t{0};
  if (most > 0 && bytes > most) return damaged("a tensor larger than memory");
  return bytes;
}

Result<TensorPlace> take_tensor(std::string_view& bytes, size_t heap_bytes) {
  uint8_t dtype = 0, rank = 0, place = 0;
  if (!take(bytes, dtype) || !take(bytes, rank) || !take(bytes, place))
    return damaged("its head ends within a tensor");
  if (dtype >= kDTypeCount) return damaged("an unknown element type");
  if (rank > kMostRank) return damaged("a tensor of too many dimensions");
  if (place > kInHeap) return damaged("a tensor in an unknown place");
  std::vector<int64_t> extents(rank);
  for (int64_t& extent : extents)
    if (!take(bytes, extent)) return damaged("its head ends within a shape");
  TensorPlace made;
  made.dtype = static_cast<DType>(dtype);
  RONDO_ASSIGN_OR_RETURN(made.bytes, bytes_of(made.dtype, extents));
  made.shape = Shape(extents);
  made.mapped = place == kInHeap;
  if (!made.mapped) return made;
  if (!take(bytes, made.offset))
    return damaged("its head ends within a tensor");
  if (made.offset > heap_bytes || made.bytes > heap_bytes - made.offset)
    return damaged("a tensor outside of the heap");
  return made;
}

}  // namespace

Encoded encode(const Message& message, bool show) {
  const SharedHeap& heap = SharedHeap::process();
  Encoded made;
  std::string head;
  uint64_t tail_bytes = 0;
  append(head, static_cast<uint32_t>(message.body.size()));
  head += message.body;
  append(head, static_cast<uint32_t>(message.tensors.size()));
  for (const Tensor& tensor : message.tensors) {
    std::optional<uint64_t> offset;
    if (show && tensor.bytes() >= kLeastMappedBytes)
      offset = heap.offset_of(tensor.data(), tensor.bytes());
    append(head, static_cast<uint8_t>(tensor.dtype()));
    append(head, static_cast<uint8_t>(tensor.shape().rank()));
    append(head, offset ? kInHeap : kInline);
    for (const int64_t extent : tensor.shape().extents()) append(head, extent);
    if (offset) {
      append(head, *offset);
      made.mapped = true;
    } else if (tensor.bytes() > 0) {
      tail_bytes += tensor.bytes();
      made.tail.push_back(tensor);
    }
  }
  made.front = kMagic;
  append(made.front, static_cast<uint32_t>(message.kind));
  append(made.front, message.id);
  append(made.front, message.code);
  append(made.front, static_cast<uint32_t>(head.size()));
  append(made.front, tail_bytes);
  made.front += head;
  return made;
}

Result<Header> decode_header(std::string_view bytes) {
  if (bytes.size() != kHeaderBytes || !bytes.starts_with(kMagic))
    return damaged("it does not begin as one");
  bytes.remove_prefix(kMagic.size());
  uint32_t kind = 0;
  Header header;
  take(bytes, kind);
  take(bytes, header.id);
  take(bytes, header.code);
  take(bytes, header.head_bytes);
  take(bytes, header.tail_bytes);
  if (kind < static_cast<uint32_t>(Kind::kHello) ||
      kind > static_cast<uint32_t>(Kind::kPong))
    return damaged("an unknown kind");
  header.kind = static_cast<Kind>(kind);
  if (header.head_bytes > kMostHeadBytes)
    return damaged("its head is too long");
  return header;
}

Result<Head> decode_head(const Header& header, std::string_view bytes,
                         size_t heap_bytes) {
  uint32_t body = 0, tensors = 0;
  if (!take(bytes, body) || body > bytes.size())
    return damaged("its body is longer than its head");
  Head head;
  head.body = bytes.substr(0, body);
  bytes.remove_prefix(body);
  if (!take(bytes, tensors)) return damaged("its head ends before the tensors");
  uint64_t tail = 0;
  for (uint32_t i = 0; i < tensors; ++i) {
    RONDO_ASSIGN_OR_RETURN(TensorPlace place, take_tensor(bytes, heap_bytes));
    if (!place.mapped && __builtin_add_overflow(tail, place.bytes, &tail))
      return damaged("its tensors are larger than memory");
    head.tensors.push_back(std::move(place));
  }
  if (!bytes.empty()) return damaged("its head is too long");
  if (tail != header.tail_bytes)
    return damaged("its tensors have other lengths than its tail");
  return head;
}

Writer& Writer::number(int64_t value) {
  append(out_, value);
  return *this;
}

Writer& Writer::text(std::string_view value) {
  append(out_, static_cast<uint32_t>(value.size()));
  out_ += value;
  return *this;
}

Writer& Writer::texts(const std::vector<std::string>& values) {
  number(static_cast<int64_t>(values.size()));
  for (const std::string& value : values) text(value);
  return *this;
}

int64_t Reader::number() {
  int64_t value = 0;
  if (!take(left_, value)) failed_ = true;
  return value;
}

std::string_view Reader::text() {
  uint32_t bytes = 0;
  if (!take(left_, bytes) || bytes > left_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view value = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return value;
}

std::vector<std::string> Reader::texts() {
  std::vector<std::string> values;
  const int64_t count = number();
  // Each takes the bytes of its length at least.
  if (count < 0 || static_cast<uint64_t>(count) > left() / sizeof(uint32_t)) {
    failed_ = true;
    return values;
  }
  for (int64_t i = 0; i < count; ++i) values.emplace_back(text());
  return values;
}

}  // namespace rondo::wire
