// Fifo: first in, first out. Internal to this folder.
#pragma once

#include <cstddef>
#include <vector>

namespace rondo {

// Most sockets of a large network have nothing in theirs, and it takes no
// memory then.
template <class T>
class Fifo {
 public:
  bool empty() const { return begin_ == items_.size(); }
  const T& front() const { return items_[begin_]; }
  void push(T item) { items_.push_back(item); }
  void pop() {
    if (++begin_ < items_.size() / 2) return;
    items_.erase(items_.begin(),
                 items_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

 private:
  std::vector<T> items_;
  size_t begin_ = 0;
};

}  // namespace rondo
