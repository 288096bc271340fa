// Device: where nodes run, and whose memory their tensors are in.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "rondo/kernels/layout.h"
#include "rondo/runtime/buffer_pool.h"

namespace rondo {

// A device of this process. Its memory need not be the host's: whoever is not
// one of its kernels (the executor, sessions, other devices) reads and writes
// its tensors through to_host() and from_host() alone. Any thread.
class RONDO_API Device {
 public:
  explicit Device(std::string name) : name_(std::move(name)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // In full: "/job:localhost/task:0/cpu:0".
  const std::string& name() const { return name_; }
  // Whose kernels it runs: "cpu".
  virtual std::string_view kind() const = 0;
  virtual Allocator& allocator() = 0;
  // Whether its tensors are in memory that the host reads and writes; then the
  // two below give back what they get.
  virtual bool in_host_memory() const = 0;
  // The same elements, row-major, in the other memory, for reading; they throw
  // rondo::Error.
  virtual Tensor to_host(const Tensor& tensor) = 0;
  virtual Tensor from_host(const Tensor& tensor) = 0;
  // For a kernel that knows nothing of layouts.
  virtual Tensor row_major(const Tensor& tensor) = 0;

 private:
  const std::string name_;
};

// Several CPU devices share the cores; each has memory of its own.
class RONDO_API CpuDevice final : public Device {
 public:
  using Device::Device;

  std::string_view kind() const override { return "cpu"; }
  Allocator& allocator() override { return pool_; }
  bool in_host_memory() const override { return true; }
  Tensor to_host(const Tensor& tensor) override { return row_major(tensor); }
  Tensor from_host(const Tensor& tensor) override { return tensor; }
  Tensor row_major(const Tensor& tensor) override {
    return in_layout(pool_, tensor, Layout::kRowMajor);
  }

 private:
  BufferPool pool_;
};

}  // namespace rondo
