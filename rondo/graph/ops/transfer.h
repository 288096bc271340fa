// Send and Recv: how a tensor gets from the part of a step on one device to
// the part on another. Partition makes them; programs do not.
#pragma once

#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

// What travels between two nodes of a step, and how. The same on both ends.
struct RONDO_API TensorTransfer {
  std::string tensor;  // the value's name; "^node" for a control edge
  std::string from;    // full names of devices
  std::string to;
  DType dtype = DType::kF32;
  DType wire = DType::kF32;  // as it travels: dtype, or bf16 for f32

  // Of a Send or Recv.
  static TensorTransfer of(const Node& node);
  // What both ends call it: "from;to;tensor".
  std::string key() const { return fmt::format("{};{};{}", from, to, tensor); }
  // The devices and the tensor of a key; an error when it is none.
  static Result<TensorTransfer> parse(std::string_view key);
};

RONDO_API Node& send(Value value, const TensorTransfer& transfer,
                     std::string name);
RONDO_API Value recv(Graph& graph, const PartialShape& shape,
                     const TensorTransfer& transfer, std::string name);
RONDO_API bool is_send(const Node& node);
RONDO_API bool is_recv(const Node& node);

}  // namespace rondo
