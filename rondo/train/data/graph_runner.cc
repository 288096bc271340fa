#include "rondo/train/data/graph_runner.h"

#include "rondo/graph/ops/basic.h"

namespace rondo {

GraphFunction build_function(const GraphBuilder& build,
                             const DataTypes& types) {
  GraphFunction function;
  function.graph = std::make_shared<Graph>();
  for (size_t i = 0; i < types.size(); ++i)
    function.inputs.push_back(
        placeholder(*function.graph, {.dtype = types[i].dtype,
                                      .shape = types[i].shape,
                                      .name = fmt::format("component_{}", i)}));
  function.outputs = build(*function.graph, function.inputs);
  return function;
}

GraphRunner::GraphRunner(std::string_view what, GraphFunction function,
                         const DataTypes& types, int intra_op_threads)
    : function_(std::move(function)),
      session_(*function_.graph, {.intra_op_threads = intra_op_threads}) {
  auto refuse = [&](const std::string& why) {
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.{}: {}", what, why));
  };
  if (function_.inputs.size() != types.size())
    refuse(fmt::format("a function of {} values for elements of {} components",
                       function_.inputs.size(), types.size()));
  for (size_t i = 0; i < types.size(); ++i)
    if (function_.inputs[i].dtype() != types[i].dtype)
      refuse(fmt::format("the function takes {} where elements have {}",
                         name_of(function_.inputs[i].dtype()),
                         name_of(types[i].dtype)));
  if (function_.outputs.empty()) refuse("the function gives nothing");
  for (const Value& output : function_.outputs)
    if (!output || &output.graph() != function_.graph.get())
      refuse("the function gives a value of another graph");
}

Result<DataElement> GraphRunner::run(const DataElement& element,
                                     Cancellation& cancellation) {
  std::vector<Feed> feeds;
  feeds.reserve(element.size());
  for (size_t i = 0; i < element.size(); ++i)
    feeds.push_back({function_.inputs[i], element[i]});
  return session_.run(function_.outputs, feeds, {},
                      {.cancellation = &cancellation});
}

DataTypes GraphRunner::types() const {
  DataTypes types;
  for (const Value& output : function_.outputs)
    types.push_back({output.dtype(), output.shape()});
  return types;
}

}  // namespace rondo
