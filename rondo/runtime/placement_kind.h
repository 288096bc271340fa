// PlacementKind: how a session chooses devices (docs/placement.md).
#pragma once

namespace rondo {

enum class PlacementKind {
  kConstraints,  // what asks for no device goes where its inputs are
  kCost,         // what asks for none goes where a step ends first
};

}  // namespace rondo
