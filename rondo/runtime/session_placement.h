// SessionPlacement: what tells a session's master which node goes where.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "rondo/runtime/constraint_placement.h"
#include "rondo/runtime/cost_placement.h"
#include "rondo/runtime/master.h"
#include "rondo/runtime/placement_kind.h"

namespace rondo {

struct SessionPlacementOptions {
  PlacementKind kind = PlacementKind::kConstraints;
  std::vector<std::string> devices;  // full names
  // Those that a node may use on one of them when all take part.
  int inter_op_threads = 1;
  int intra_op_threads = 1;
  bool soft = false;
  // Whether all devices are of this process, so that it can measure how much
  // they slow each other.
  bool one_process = false;
};

class RONDO_API SessionPlacement {
 public:
  explicit SessionPlacement(const SessionPlacementOptions& options);

  // Lets a master ask it, which it has to outlive.
  void serve(MasterOptions& options);

 private:
  std::variant<ConstraintPlacement, CostPlacement> placement_;
};

}  // namespace rondo
