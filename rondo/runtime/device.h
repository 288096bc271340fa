// Device: where nodes run, and whose memory their tensors are in.
#pragma once

#include <string>
#include <utility>

#include "rondo/runtime/buffer_pool.h"

namespace rondo {

// A device of this process. Several CPU devices share the cores; each has
// memory of its own.
class Device {
 public:
  explicit Device(std::string name) : name_(std::move(name)) {}

  // In full: "/job:localhost/task:0/cpu:0".
  const std::string& name() const { return name_; }
  Allocator& allocator() { return pool_; }

 private:
  const std::string name_;
  BufferPool pool_;
};

}  // namespace rondo
