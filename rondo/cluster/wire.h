// What travels on a link between two tasks: frames.
//
//   frame   = header head tail
//   header  = "RLNK" u8 kind, 3 B zero, u64 id, u32 code, u32 bytes of head,
//             u64 bytes of tail                             (little endian)
//   head    = u32 bytes of body, body, u32 tensors, tensor*
//   tensor  = u8 dtype, u8 rank, u8 place, i64 extent*, u64 offset if mapped
//   tail    = the elements of the tensors whose place is "inline", in order
//
// A tensor whose place is "mapped" lies at an offset of the sender's heap,
// which the receiver has mapped; the receiver copies it from there and answers
// with kRelease. All lengths are checked against each other before memory is
// taken for what they announce.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo::wire {

enum class Kind : uint8_t {
  kHello = 1,    // the sender's heap, for the receiver to map
  kMapped = 2,   // the receiver has mapped it
  kCall = 3,     // code: the method; id: the call's number
  kAnswer = 4,   // code: 0, or the failure's, whose text is the body; id
  kRelease = 5,  // the mapped tensors of frame `id` have been copied
  kPing = 6,
  kPong = 7,
};

inline constexpr size_t kHeaderBytes = 32;
// Names and numbers; graphs travel as tensors.
inline constexpr uint32_t kMostHeadBytes = 16 << 20;
// Tensors of this many bytes and more are not sent but shown, where that works.
inline constexpr size_t kLeastMappedBytes = 16 << 10;

struct Header {
  Kind kind = Kind::kPing;
  uint64_t id = 0;
  uint32_t code = 0;
  uint32_t head_bytes = 0;
  uint64_t tail_bytes = 0;
};

struct Message {
  Kind kind = Kind::kPing;
  uint64_t id = 0;
  uint32_t code = 0;
  std::string body;
  std::vector<Tensor> tensors;
};

// A message as bytes: header and head in one piece, and the tensors whose
// elements follow.
struct Encoded {
  std::string front;
  std::vector<Tensor> tail;
  bool mapped = false;  // whether some tensors are only shown
};
// `show` says whether the receiver has mapped this process's heap.
Encoded encode(const Message& message, bool show);

// What a head says about a tensor.
struct TensorPlace {
  DType dtype = DType::kF32;
  Shape shape;
  size_t bytes = 0;
  bool mapped = false;
  uint64_t offset = 0;
};
struct Head {
  std::string body;
  std::vector<TensorPlace> tensors;
};

// An error when this is no header, or announces more than is allowed.
Result<Header> decode_header(std::string_view bytes);
// `heap_bytes`: how much of the sender's heap is mapped here; 0: none of it.
Result<Head> decode_head(const Header& header, std::string_view bytes,
                         size_t heap_bytes);

// Numbers and texts in a row, as bodies have them.
class Writer {
 public:
  Writer& number(int64_t value);
  Writer& text(std::string_view value);
  // Their number first.
  Writer& texts(const std::vector<std::string>& values);
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};
// Reading past the end gives zeros and empty texts, and ok() says so.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  int64_t number();
  std::string_view text();
  // None of them where there cannot be as many as are announced.
  std::vector<std::string> texts();
  // Whether everything was there, and nothing is left.
  bool ok() const { return !failed_ && left_.empty(); }
  // How many more items there can be at most: a bound for counts.
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

}  // namespace rondo::wire
