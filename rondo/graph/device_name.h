// DeviceName: "/job:worker/task:1/cpu:0", or any part of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

// What a part does not say is left open. "/device:CPU:0" reads as "/cpu:0".
struct RONDO_API DeviceName {
  std::optional<std::string> job;
  std::optional<int> task;
  std::optional<std::string> type;  // "cpu", "gpu", in lower case
  std::optional<int> index;

  static Result<DeviceName> parse(std::string_view text);
  std::string to_string() const;
  // This name with what `inner` says put in its place.
  DeviceName refined_by(const DeviceName& inner) const;
  // Whether `full` is one of the devices that this name leaves open.
  bool matches(const DeviceName& full) const;
  bool operator==(const DeviceName&) const = default;
};

}  // namespace rondo
