#include "rondo/graph/host_function.h"

namespace rondo {

Result<std::vector<Tensor>> HostFunction::call(
    std::span<const Tensor> /*inputs*/) const {
  return error(Code::kInvalidArgument, "its function cannot be called");
}

std::vector<Gradient> HostFunction::gradient(
    Node& node, std::span<const Value> /*grads*/) const {
  throw Error(Code::kInvalidArgument,
              fmt::format("{}: its function has no gradient", node.describe()));
}

std::shared_ptr<const HostFunction> host_function_of(const Node& node) {
  return std::dynamic_pointer_cast<const HostFunction>(
      node.graph().attachment(node.attrs().get<std::string>("function")));
}

}  // namespace rondo
