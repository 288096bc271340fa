#include "rondo/collectives/operation.h"

#include <fmt/core.h>

#include "rondo/collectives/algorithms.h"

namespace rondo {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kNone: return "nothing";
    case Operation::kAllreduce: return "allreduce";
    case Operation::kReduce: return "reduce";
    case Operation::kBroadcast: return "broadcast";
    case Operation::kAllgather: return "allgather";
    case Operation::kAllgatherv: return "allgatherv";
    case Operation::kReduceScatter: return "reduce_scatter";
    case Operation::kGather: return "gather";
    case Operation::kScatter: return "scatter";
    case Operation::kAllToAll: return "all_to_all";
    case Operation::kAllToAllv: return "all_to_allv";
    case Operation::kBarrier: return "barrier";
    case Operation::kMessage: return "send/recv";
    case Operation::kSplit: return "split";
  }
  return "unknown operation";
}

bool is_rooted(Operation operation) {
  return operation == Operation::kReduce ||
         operation == Operation::kBroadcast ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

std::string short_name(const OpTag& tag) {
  const auto operation = static_cast<Operation>(tag.operation);
  if (tag.sequence == 0) return std::string(name_of(operation));
  return fmt::format("{} #{}", name_of(operation), tag.sequence);
}

std::string describe(const OpTag& tag) {
  const auto operation = static_cast<Operation>(tag.operation);
  std::string text = short_name(tag);
  if (operation == Operation::kBarrier || operation == Operation::kNone ||
      operation == Operation::kSplit)
    return text;
  text +=
      fmt::format(" ({} {}", tag.count, name_of(static_cast<DType>(tag.dtype)));
  switch (operation) {
    case Operation::kAllreduce:
    case Operation::kReduceScatter:
      text +=
          fmt::format(", {}", name_of(static_cast<ReduceOp>(tag.reduce_op)));
      break;
    case Operation::kReduce:
      text +=
          fmt::format(", {}, root {}",
                      name_of(static_cast<ReduceOp>(tag.reduce_op)), tag.root);
      break;
    case Operation::kBroadcast:
    case Operation::kGather:
    case Operation::kScatter: text += fmt::format(", root {}", tag.root); break;
    case Operation::kAllgatherv:
      text += fmt::format(", counts with checksum {:08x}",
                          static_cast<uint32_t>(tag.root));
      break;
    default: break;
  }
  if (tag.algorithm != 0)
    text += fmt::format(", by {}", algorithm_name(tag.algorithm));
  return text + ")";
}

}  // namespace rondo
