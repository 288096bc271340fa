// What queues, accumulators, critical sections, exchanges and what several runs
// have together share.
#pragma once

#include <string>
#include <string_view>

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_accumulator_ops(OpRegistry& ops);
void register_critical_section_ops(OpRegistry& ops);
void register_exchange_ops(OpRegistry& ops);
void register_run_ops(OpRegistry& ops);

// Of rows and their indices, as many of each, where others come behind them.
Status infer_all_rows(InferContext& c);
void register_parameter_ops(OpRegistry& ops);

// Whether the attributes of a node describe a queue that can be.
Status check_queue(InferContext& c);
// The same of an accumulator.
Status check_accumulator(InferContext& c);

// "q" of "scope/q": nodes are named within the scope in force.
inline std::string_view last_part(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace rondo
