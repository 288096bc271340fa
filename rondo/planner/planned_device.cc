#include "rondo/planner/planned_device.h"

#include <algorithm>

namespace rondo {
namespace {

// From the data sheets of their maker; links are half of the figures there,
// which count both ways.
constexpr PlannedDevice kDevices[] = {
    {"t4", 8.1e12, false, 65e12, 320e9, 16e9},       // PCIe 3
    {"v100", 15.7e12, false, 125e12, 900e9, 150e9},  // NVLink
    {"a10", 62.5e12, true, 125e12, 600e9, 32e9},     // PCIe 4
    {"a100", 156e12, true, 312e12, 2039e9, 300e9},   // NVLink
    {"l4", 60e12, true, 121e12, 300e9, 32e9},        // PCIe 4
    {"l40s", 183e12, true, 362e12, 864e9, 32e9},     // PCIe 4
    {"h100", 494e12, true, 989e12, 3350e9, 450e9},   // NVLink
    {"h200", 494e12, true, 989e12, 4800e9, 450e9},   // NVLink
};

// What training usually gets of a peak. Tensor cores wait for memory and for
// kernels that follow each other; plain units less so.
constexpr double kOfTensorCores = 0.4;
constexpr double kOfPlainUnits = 0.7;
constexpr double kOfMemory = 0.75;
constexpr double kOfLink = 0.8;

}  // namespace

DeviceRates PlannedDevice::rates(bool half) const {
  const double share = half || tensor_f32 ? kOfTensorCores : kOfPlainUnits;
  return {.flops_per_s = share * (half ? half_flops : flops),
          .bytes_per_s = kOfMemory * memory};
}

double PlannedDevice::sustained_link() const { return kOfLink * link; }

std::string device_names() { return fmt::format("cpu, {}", gpu_names()); }

std::string gpu_names() {
  std::string names;
  for (const PlannedDevice& device : kDevices)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", device.name);
  return names;
}

Result<PlannedDevice> find_device(std::string_view name) {
  const auto* found = std::ranges::find(kDevices, name, &PlannedDevice::name);
  if (found != std::end(kDevices)) return *found;
  return error(Code::kInvalidArgument,
               "--device {}: there is no such device; there are {}; of another "
               "one, give its operations a second, such as --flops 10T",
               name, device_names());
}

}  // namespace rondo
