// PlannedDevice: what a worker computes on, by the figures that its maker
// publishes, and what of them training usually gets.
#pragma once

#include <string>
#include <string_view>

#include "rondo/planner/node_times.h"

namespace rondo {

// Peaks, a second. Those of products are of dense matrices.
struct PlannedDevice {
  std::string_view name;
  double flops = 0;        // of products of f32, as TF32 where it has that
  bool tensor_f32 = true;  // whether these are TF32
  double half_flops = 0;   // of bf16, or f16 where it has no bf16
  double memory = 0;       // bytes
  double link = 0;         // bytes to the other devices of its host, each way

  // What training gets of it.
  DeviceRates rates(bool half) const;
  double sustained_link() const;
};

// The error names those that there are.
Result<PlannedDevice> find_device(std::string_view name);
std::string device_names();
// Without the CPU.
std::string gpu_names();

}  // namespace rondo
