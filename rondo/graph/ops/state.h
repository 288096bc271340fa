// Variables: tensors that outlive a run.
//
// A variable lives in the session's resources under its name; nodes that read
// or change it carry that name as an attribute. Within a run a change comes
// after every use of the value before it that it does not itself wait for, so
// the result does not depend on the order in which nodes happen to run.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct VariableOptions {
  std::string name = {};
  // Whether optimizers change it: it joins the collection "trainable".
  bool trainable = true;
  // Where its worker keeps it; sessions that share a worker share what is in a
  // container. Empty: the worker's own.
  std::string container = {};
};

// A variable that initializer(g) sets to `initial`; its value.
RONDO_API Value variable(Graph& graph, Value initial,
                         VariableOptions options = {});
// Sets all variables of the graph to their initial values.
RONDO_API Node& initializer(Graph& graph);
// The name under which the value of variable() keeps it; throws for another.
RONDO_API const std::string& variable_name(Value variable);
// The container of a variable.
RONDO_API const std::string& container_of(Value variable);
// The value at the time this node runs: after its control inputs.
RONDO_API Value read_variable(Value variable);
// The value once its initializer has run: for the initial value of another.
RONDO_API Value initialized_value(Value variable);
RONDO_API Value is_initialized(Value variable);
// Each gives the new value. The shapes must agree.
RONDO_API Value assign(Value variable, Value value);
// Sets all of them at once: another run, or one that is cancelled, sees all
// changed or none.
RONDO_API Node& assign_all(const std::vector<Value>& variables,
                           const std::vector<Value>& values);
RONDO_API Value assign_add(Value variable, Value value);
RONDO_API Value assign_sub(Value variable, Value value);
// Rows `indices` become, or grow by, `rows`; rows of the same index: the last
// counts, or all add up.
RONDO_API Value scatter_update(Value variable, Value indices, Value rows);
RONDO_API Value scatter_add(Value variable, Value indices, Value rows);

// The names of the collections that variable() fills.
inline constexpr std::string_view kVariables = "variables";
inline constexpr std::string_view kTrainable = "trainable_variables";
inline constexpr std::string_view kInitializers = "initializers";

}  // namespace rondo
