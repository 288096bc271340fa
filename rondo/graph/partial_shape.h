// PartialShape: what is known of a tensor's shape before it exists.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// An extent that is not known yet.
inline constexpr int64_t kAny = -1;

// Either of unknown rank, or a rank with extents of which each may be unknown.
class RONDO_API PartialShape {
 public:
  PartialShape() = default;  // of unknown rank
  PartialShape(std::initializer_list<int64_t> extents)
      : PartialShape(std::vector<int64_t>(extents)) {}
  explicit PartialShape(std::vector<int64_t> extents);
  PartialShape(const Shape& shape);
  static PartialShape scalar() { return PartialShape(Shape{}); }
  // Every extent unknown.
  static PartialShape of_rank(int rank);

  bool has_rank() const { return has_rank_; }
  // Only with has_rank().
  int rank() const { return static_cast<int>(extents_.size()); }
  int64_t operator[](int i) const { return extents_[static_cast<size_t>(i)]; }
  std::span<const int64_t> extents() const { return extents_; }
  void set(int i, int64_t extent) { extents_[static_cast<size_t>(i)] = extent; }
  // Rank and every extent known.
  bool known() const;
  // Only with known().
  Shape to_shape() const { return Shape(extents_); }
  // The number of elements, or kAny.
  int64_t count() const;
  // Whether one tensor can have both shapes.
  bool compatible(const PartialShape& other) const;
  std::string to_string() const;  // "[?, 784]", "?" for an unknown rank
  bool operator==(const PartialShape&) const = default;

 private:
  bool has_rank_ = false;
  std::vector<int64_t> extents_;
};

// What is known when a tensor has both shapes; an error when none can.
RONDO_API Result<PartialShape> merge(const PartialShape& a,
                                     const PartialShape& b);
// The shape of an element-wise operation of both, as NumPy broadcasts them.
RONDO_API Result<PartialShape> broadcast(const PartialShape& a,
                                         const PartialShape& b);
// Extents from `axis` of the rank; negative counts from the end.
RONDO_API Result<int> resolve_axis(int64_t axis, int rank);

}  // namespace rondo
