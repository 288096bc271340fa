// Tensor: a counted buffer of elements with a dtype and a shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/dtype.h"

namespace rondo {

// Extents, outermost first. A scalar has none. Up to kInline of them are kept
// in place, so that shapes of ordinary tensors take nothing from the heap.
class RONDO_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(const std::vector<int64_t>& extents)
      : Shape(std::span<const int64_t>(extents)) {}
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return data()[i]; }
  std::span<const int64_t> extents() const {
    return {data(), static_cast<size_t>(rank_)};
  }
  // The product of the extents (1 for a scalar).
  int64_t count() const;
  std::string to_string() const;  // "[2, 3]"
  bool operator==(const Shape& other) const {
    return std::ranges::equal(extents(), other.extents());
  }

 private:
  static constexpr int kInline = 6;
  const int64_t* data() const {
    return rank_ <= kInline ? few_.data() : many_.data();
  }

  int rank_ = 0;
  std::array<int64_t, kInline> few_{};
  std::vector<int64_t> many_;  // when there are more
};

// Where a tensor's elements are. All but kRowMajor are for images and exist
// only between the kernels of a step: [batch, channels / 16, height, width, 16]
// in memory, for a shape of NHWC or NCHW.
enum class Layout : uint8_t { kRowMajor, kNhwc16, kNchw16 };

// Contiguous, and row-major but for what Layout says. Copying a Tensor shares
// the buffer; clone() copies the elements. Buffers come from
// SharedHeap::process(), so same-host peers reduce them in place. Building a
// tensor throws rondo::Error when the shape is negative or memory runs out.
class RONDO_API Tensor {
 public:
  Tensor() = default;  // no elements, f32, shape [0]
  // Unspecified contents.
  static Tensor empty(Shape shape, DType dtype = DType::kF32);
  static Tensor zeros(Shape shape, DType dtype = DType::kF32);
  // Every element `value`, of T's dtype: full({4}, 1.0f) is f32.
  template <class T>
  static Tensor full(const Shape& shape, T value) {
    Tensor t = empty(shape, dtype_of<T>);
    for (T& element : t.span<T>()) element = value;
    return t;
  }
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  // Over memory of somebody else's, which `buffer` keeps; at least as many
  // bytes as the shape has.
  static Tensor adopt(std::shared_ptr<void> buffer, DType dtype, Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Layout layout() const { return layout_; }
  void set_layout(Layout layout) { layout_ = layout; }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_) * size_of(dtype_); }
  void* data() { return buffer_.get(); }
  const void* data() const { return buffer_.get(); }
  // The elements as T; throws when T is not of this dtype.
  template <class T>
  std::span<T> span() {
    check_type(dtype_of<T>);
    return {static_cast<T*>(data()), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<const T> span() const {
    check_type(dtype_of<T>);
    return {static_cast<const T*>(data()), static_cast<size_t>(count_)};
  }
  Tensor clone() const;
  // The same buffer under another shape of the same count.
  Tensor reshape(Shape shape) const;
  // The same buffer as elements of another type and shape, of as many bytes.
  Tensor view(DType dtype, Shape shape) const;
  // Lets the buffer go; dtype and shape are then of no meaning.
  void release() { buffer_.reset(); }
  bool has_buffer() const { return buffer_ != nullptr; }
  // Whether no other Tensor has this buffer. If so, what others did with it
  // before they let it go has happened before this returns.
  bool unique() const;
  // "f32[4] 6 6 6 6"; long tensors are cut in the middle.
  std::string to_string() const;

 private:
  void check_type(DType wanted) const;

  std::shared_ptr<void> buffer_;
  DType dtype_ = DType::kF32;
  Layout layout_ = Layout::kRowMajor;
  Shape shape_{0};
  int64_t count_ = 0;
};

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor t = empty(shape, dtype_of<T>);
  if (static_cast<size_t>(t.count_) != values.size())
    throw Error(Code::kInvalidArgument,
                "Tensor::of: the shape and the number of values differ");
  std::copy(values.begin(), values.end(), t.span<T>().begin());
  return t;
}

}  // namespace rondo
