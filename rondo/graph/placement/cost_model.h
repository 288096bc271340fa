// CostModel: how long nodes take and how large what they give is; estimated,
// and measured once somebody has.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/placement/device_info.h"

namespace rondo {

struct CostModelOptions {
  // What an extent counts as that nobody knows before a run, such as the batch;
  // a tensor of unknown rank counts as a vector of so many.
  double unknown_extent = 32;
  // How often the body of a loop runs.
  double loop_iterations = 10;
  // The share of the newest measurement in an average.
  double newest = 0.25;
};

// Measurements are kept by the node's name, so they serve every graph that has
// it, and give way slowly to newer ones. One thread at a time.
class RONDO_API CostModel {
 public:
  explicit CostModel(CostModelOptions options = {});

  // How long `node` runs on each of the devices in a step, all its iterations
  // together: what was measured there; or what was measured on another of them,
  // in proportion to the estimates; or the estimate. `loops` is how many loops
  // it is within.
  std::vector<double> seconds(const Node& node,
                              std::span<const DeviceInfo> devices,
                              int loops = 0) const;
  // Of one tensor that `value` is in a step.
  double bytes(const Value& value) const;
  // From the operation's cost function and the device's rates alone: the longer
  // of computing and of moving the bytes, and what any node costs.
  double estimate(const Node& node, const DeviceInfo& device,
                  int loops = 0) const;
  DeviceLink link(const DeviceInfo& from, const DeviceInfo& to,
                  const DeviceLinks& given) const;

  // `seconds` are those of all runs of the node in one step.
  void record_run(std::string_view node, const std::string& device,
                  double seconds);
  void record_output(std::string_view node, int output, double bytes);
  // From the start of a transfer to its end.
  void record_transfer(const std::string& from, const std::string& to,
                       double bytes, double seconds);
  bool has_run(std::string_view node) const;
  bool has_transfer(const std::string& from, const std::string& to) const {
    return transfers_.contains({from, to});
  }
  const CostModelOptions& options() const { return options_; }

 private:
  // Averages from which a line through (bytes, seconds) follows.
  struct Transfers {
    double x = 0, y = 0, xx = 0, xy = 0;
  };
  struct Measured {
    std::map<std::string, double> seconds;  // by device
    std::vector<double> bytes;              // by output; negative: none
  };
  const Measured* find(std::string_view node) const;
  double guess(const TensorType& type) const;

  const CostModelOptions options_;
  std::map<std::string, Measured, std::less<>> nodes_;
  std::map<std::pair<std::string, std::string>, Transfers> transfers_;
};

}  // namespace rondo
