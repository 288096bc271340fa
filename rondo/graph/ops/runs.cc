#include "rondo/graph/ops/runs.h"

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

Status check_count(InferContext& c) {
  const auto count = c.attr<int64_t>("count");
  if (count < 1)
    return error(Code::kInvalidArgument, "count is {}, expected 1 or more",
                 count);
  return {};
}

Status infer_mean_of_runs(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_count(c));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

Status infer_rows_of_runs(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_count(c));
  return infer_all_rows(c);
}

}  // namespace

void register_run_ops(OpRegistry& ops) {
  const AttrSpec count{"count", int64_t{1}, true, "of how many runs"};
  ops.add({.name = "MeanOfRuns",
           .doc = "The mean of x over several runs, in the last of them; in "
                  "the others it gives nothing, and what needs it does not "
                  "run.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"mean"},
           .attrs = {count},
           .infer = infer_mean_of_runs,
           .cost = cost::per_output<1>,
           .kind = OpKind::kStateful});
  ops.add({.name = "RowsOfRuns",
           .doc = "Rows of a tensor and their indices, of several runs, one "
                  "run's behind the other's, in the last of them; the rows are "
                  "divided by the number of runs. In the others it gives "
                  "nothing, and what needs it does not run.",
           .inputs = {{"values", TypeSet::kFloat, false, 0},
                      {"indices", TypeSet::kIndex, false, 0}},
           .outputs = {"all_values", "all_indices"},
           .attrs = {count},
           .infer = infer_rows_of_runs,
           .cost = cost::per_output<1>,
           .kind = OpKind::kStateful});
}

Value mean_of_runs(Value x, int64_t count, std::string name) {
  return make("MeanOfRuns", {x}, {{"count", count}}, std::move(name));
}

Rows rows_of_runs(const Rows& rows, int64_t count, std::string name) {
  Node& node = rows.values.graph().add({.op = "RowsOfRuns",
                                        .inputs = {rows.values, rows.indices},
                                        .attrs = {{"count", count}},
                                        .name = std::move(name)});
  return {node.output(0), node.output(1)};
}

}  // namespace rondo
