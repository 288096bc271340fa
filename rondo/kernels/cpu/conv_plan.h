// ConvPlan: how a convolution of certain shapes is computed.
#pragma once

#include <cstdint>

namespace rondo {

// Takes and gives tensors in the formats of the operation, or blocked. Fixed
// once made; any number of threads at once.
class ConvPlan {
 public:
  // Which images come blocked, and whether the result may be given so.
  struct Blocked {
    bool x = false;
    bool y = false;
    bool result = false;
    bool operator==(const Blocked&) const = default;
  };

  virtual ~ConvPlan() = default;

  // Whether the image that it makes is blocked.
  bool gives_blocked() const { return gives_blocked_; }
  // Bytes of memory that execute() needs for itself, aligned to kAlignment.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  static constexpr int64_t kAlignment = 64;

  // Writes the tensor that the direction is about from the other two. `bias`
  // has an element for each channel out where the epilogue has one.
  virtual void execute(void* x, void* filter, void* y, void* workspace,
                       void* bias) const = 0;

 protected:
  // Gives the place of so many bytes in the workspace.
  int64_t reserve(int64_t bytes) {
    const int64_t at = workspace_bytes_;
    workspace_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }

  bool gives_blocked_ = false;

 private:
  int64_t workspace_bytes_ = 0;
};

}  // namespace rondo
