#include "rondo/tensor/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "rondo/tensor/heap.h"

namespace rondo {
namespace {

// More elements than these are printed as the first and the last of them.
constexpr int64_t kPrinted = 16;

// One element as text.
std::string element_text(DType dtype, const char* at) {
  const auto read = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::kF64: return fmt::format("{}", read(double{}));
    case DType::kF32: return fmt::format("{}", read(float{}));
    case DType::kF16: return fmt::format("{}", read(Half{}).to_float());
    case DType::kBF16: return fmt::format("{}", read(BFloat16{}).to_float());
    case DType::kI64: return fmt::format("{}", read(int64_t{}));
    case DType::kI32: return fmt::format("{}", read(int32_t{}));
    case DType::kI16: return fmt::format("{}", read(int16_t{}));
    case DType::kI8: return fmt::format("{:d}", read(int8_t{}));
    case DType::kU8: return fmt::format("{:d}", read(uint8_t{}));
    case DType::kBool: return read(uint8_t{}) != 0 ? "true" : "false";
  }
  return {};
}

}  // namespace

Shape::Shape(std::span<const int64_t> extents)
    : rank_(static_cast<int>(extents.size())) {
  if (rank_ <= kInline)
    std::ranges::copy(extents, few_.begin());
  else
    many_.assign(extents.begin(), extents.end());
}

int64_t Shape::count() const {
  bool none = false;
  for (const int64_t extent : extents()) {
    if (extent < 0)
      throw Error(Code::kInvalidArgument,
                  fmt::format("shape {} has the negative extent {}",
                              to_string(), extent));
    none = none || extent == 0;
  }
  if (none) return 0;
  int64_t count = 1;
  for (const int64_t extent : extents())
    if (__builtin_mul_overflow(count, extent, &count))
      throw Error(Code::kInvalidArgument,
                  fmt::format("shape {} has more elements than a 64-bit count "
                              "can hold",
                              to_string()));
  return count;
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(extents(), ", "));
}

Tensor Tensor::empty(Shape shape, DType dtype) {
  Tensor t;
  t.dtype_ = dtype;
  t.count_ = shape.count();
  t.shape_ = std::move(shape);
  SharedHeap& heap = SharedHeap::process();
  size_t bytes;
  void* buffer = nullptr;
  if (!__builtin_mul_overflow(static_cast<size_t>(t.count_), size_of(dtype),
                              &bytes))
    buffer = heap.allocate(bytes);
  if (buffer == nullptr)
    throw Error(Code::kResource,
                fmt::format("no memory for a tensor {}{}: {} elements of {} "
                            "bytes do not fit in what is left of the heap",
                            name_of(dtype), t.shape_.to_string(), t.count_,
                            size_of(dtype)));
  t.buffer_ = std::shared_ptr<void>(buffer, [&heap](void* p) { heap.free(p); });
  return t;
}

Tensor Tensor::zeros(Shape shape, DType dtype) {
  Tensor t = empty(std::move(shape), dtype);
  std::memset(t.data(), 0, t.bytes());
  return t;
}

Tensor Tensor::clone() const {
  Tensor t = empty(shape_, dtype_);
  t.layout_ = layout_;
  if (bytes() > 0) std::memcpy(t.data(), data(), bytes());
  return t;
}

Tensor Tensor::reshape(Shape shape) const {
  if (shape.count() != count_)
    throw Error(Code::kInvalidArgument,
                fmt::format("a tensor of shape {} cannot be reshaped to {}: "
                            "{} elements against {}",
                            shape_.to_string(), shape.to_string(), count_,
                            shape.count()));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

bool Tensor::unique() const {
  if (buffer_.use_count() != 1) return false;
  // use_count() orders nothing; letting go of a copy does.
  std::shared_ptr<void>(buffer_).reset();
  return true;
}

Tensor Tensor::adopt(std::shared_ptr<void> buffer, DType dtype, Shape shape) {
  Tensor t;
  t.buffer_ = std::move(buffer);
  t.dtype_ = dtype;
  t.count_ = shape.count();
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::view(DType dtype, Shape shape) const {
  Tensor t = adopt(buffer_, dtype, std::move(shape));
  if (t.bytes() != bytes())
    throw Error(Code::kInvalidArgument,
                fmt::format("a tensor {}{} cannot be seen as {}{}: {} bytes "
                            "against {}",
                            name_of(dtype_), shape_.to_string(), name_of(dtype),
                            t.shape_.to_string(), bytes(), t.bytes()));
  return t;
}

std::string Tensor::to_string() const {
  std::string text = fmt::format("{}{}", name_of(dtype_), shape_.to_string());
  const auto* bytes = static_cast<const char*>(data());
  const auto size = static_cast<int64_t>(size_of(dtype_));
  for (int64_t i = 0; i < count_; ++i) {
    if (count_ > kPrinted && i == kPrinted / 2) {
      text += " ...";
      i = count_ - kPrinted / 2;
    }
    text += ' ';
    text += element_text(dtype_, bytes + i * size);
  }
  return text;
}

void Tensor::check_type(DType wanted) const {
  if (wanted != dtype_)
    throw Error(Code::kInvalidArgument,
                fmt::format("a tensor of {} was asked for its elements as {}",
                            name_of(dtype_), name_of(wanted)));
}

}  // namespace rondo
