// StepPlan: a subgraph compiled for running, as flat arrays.
//
// Every node becomes an *item*. An item waits for a number of tokens (its
// inputs and control inputs), runs its kernel, and sends tokens along its
// *edges*. Nodes within a loop belong to a *frame*: the loop's name and the
// frame around it; the items of a frame exist once for each iteration of it.
// The root frame, 0, has one iteration.
#pragma once

#include <memory>
#include <vector>

#include "rondo/graph/subgraph.h"
#include "rondo/kernels/host_sides.h"
#include "rondo/kernels/kernel.h"
#include "rondo/kernels/run_scope.h"
#include "rondo/runtime/containers.h"
#include "rondo/runtime/crossing.h"
#include "rondo/runtime/device.h"

namespace rondo {

enum class ItemKind {
  kKernel,   // runs its kernel; dead when an input is
  kSwitch,   // (data, condition): data to output condition; the other is dead
  kMerge,    // the first of its inputs that is not dead, and which it was
  kEnter,    // into a frame
  kExit,     // out of it
  kNext,     // to the frame's next iteration
  kNothing,  // sends its inputs on
  kAwait,    // waits for tokens, dead or not, and is never dead
  kSend,     // to another device; dead tokens too
  kRecv      // from another device; dead when what comes is
};

struct StepPlan {
  struct Edge {
    int item;    // where to; kFetch: slot is a fetch's number
    int slot;    // of the target frame's inputs; kControl for a control edge
    int output;  // which output of the source; kControl for none
  };
  static constexpr int kFetch = -1;
  static constexpr int kControl = -1;

  struct Item {
    ItemKind kind = ItemKind::kKernel;
    const Node* node = nullptr;
    std::unique_ptr<Kernel> kernel;
    AsyncKernel* async = nullptr;  // the kernel, where it is one
    RunScope* scope = nullptr;     // the same
    bool takes_layouts = false;    // as the kernel says
    bool urgent = false;           // somebody elsewhere waits for what it sends
    // The same, where the device's memory is not the host's.
    const HostSides* host_sides = nullptr;
    std::unique_ptr<const Crossing> crossing;  // of kSend and kRecv
    int frame = 0;                             // where it runs
    int local = 0;       // its number among the frame's items
    int first_slot = 0;  // its inputs in the frame's slots
    int inputs = 0;
    int outputs = 0;
    int first_edge = 0;
    int edges = 0;
    int waits_for = 0;      // tokens; of a merge: control tokens
    int target_frame = 0;   // of kEnter and kExit
    bool constant = false;  // of kEnter: the same in every iteration
  };
  struct Frame {
    int parent = -1;
    std::vector<int> items;  // local number -> item
    std::vector<int> waits;  // local number -> tokens it waits for
    int slots = 0;
    int enters = 0;          // items that enter it
    std::vector<int> exits;  // items that leave it
    int parallel = 10;       // most iterations under way at once
  };

  Subgraph subgraph;  // whose nodes the kernels refer to
  std::vector<Item> items;
  std::vector<Edge> edges;
  std::vector<Frame> frames;
  std::vector<int> roots;                // items that wait for nothing
  std::vector<std::vector<Edge>> feeds;  // where each feed goes
  bool has_async = false;
  std::vector<RunScope*> scopes;  // kernels that are told of every run
};

// Makes the kernels for the device, each of which will use the container of its
// node. An error names the node.
Result<std::unique_ptr<StepPlan>> compile(Subgraph subgraph,
                                          const Device& device,
                                          Containers& containers);

}  // namespace rondo
