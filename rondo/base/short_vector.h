// ShortVector: a vector whose first few elements need no memory of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <vector>

namespace rondo {

// Up to kFew elements are kept in place, more in a vector. For what kernels
// work out anew in every run, such as extents and strides.
template <class T, size_t kFew = 8>
class ShortVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  ShortVector() = default;
  explicit ShortVector(size_t size, T value = {}) { resize(size, value); }
  ShortVector(std::initializer_list<T> values)
      : ShortVector(values.begin(), values.end()) {}
  template <std::input_iterator I>
  ShortVector(I first, I last) {
    for (; first != last; ++first) push_back(static_cast<T>(*first));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ <= kFew ? few_.data() : many_.data(); }
  const T* data() const { return size_ <= kFew ? few_.data() : many_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T value) { resize(size_ + 1, value); }
  void pop_back() { resize(size_ - 1); }
  void resize(size_t size, T value = {}) {
    if (size > kFew && size_ <= kFew) many_.assign(begin(), end());
    if (size <= kFew && size_ > kFew)
      std::copy_n(many_.begin(), size, few_.begin());
    if (size > kFew)
      many_.resize(size, value);
    else if (size > size_)
      std::fill(few_.begin() + size_, few_.begin() + size, value);
    size_ = size;
  }
  // Before the element at `at`.
  void insert(const T* at, T value) { insert(at, &value, &value + 1); }
  // Values that are not this vector's own.
  void insert(const T* at, const T* first, const T* last) {
    const auto before = at - begin();
    resize(size_ + static_cast<size_t>(last - first));
    T* to = begin() + before;
    std::copy_backward(to, end() - (last - first), end());
    std::copy(first, last, to);
  }
  void erase(const T* at) {
    T* gap = begin() + (at - begin());
    std::copy(gap + 1, end(), gap);
    pop_back();
  }

 private:
  size_t size_ = 0;
  std::array<T, kFew> few_{};
  std::vector<T> many_;  // all of them, when there are more
};

// Extents, strides, axes: as many as a tensor has axes.
using FewInts = ShortVector<int64_t>;

}  // namespace rondo
