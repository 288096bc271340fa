// Profiled: an operation that runs while it lives, in PyTorch's profiles. Works
// have theirs from PyTorch; this is for calls that make none.
#pragma once

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <vector>

namespace rondo::torch {

class Profiled {
 public:
  Profiled(const char* title, const std::vector<at::Tensor>& inputs) {
    if (!record_.isActive()) return;
    record_._setAsync();  // as works are shown
    const std::vector<c10::IValue> values(inputs.begin(), inputs.end());
    record_.before(title, &values);
  }

 private:
  at::RecordFunction record_{at::RecordScope::USER_SCOPE};
};

}  // namespace rondo::torch
