#include "rondo/train/server_update.h"

#include <algorithm>
#include <map>
#include <span>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/parameters.h"
#include "rondo/graph/ops/state.h"
#include "rondo/kernels/cpu/dispatch.h"

namespace rondo {
namespace {

using Names = std::vector<std::string>;
using Rates = std::vector<std::pair<std::string_view, double KvOptimizer::*>>;

struct Known {
  std::string_view op;    // of a dense gradient
  std::string_view name;  // for people
  UpdateRule rule;
  Rates rates;  // its inputs behind the gradient and the learning rate
};

// Powers are variables of the graph, which servers count themselves.
const std::vector<Known>& known_updates() {
  static const std::vector<Known> known = {
      {"ApplyGradientDescent",
       "GradientDescent",
       UpdateRule::kGradientDescent,
       {}},
      {"ApplyMomentum",
       "Momentum",
       UpdateRule::kMomentum,
       {{"momentum", &KvOptimizer::momentum}}},
      {"ApplyAdagrad",
       "Adagrad",
       UpdateRule::kAdagrad,
       {{"epsilon", &KvOptimizer::epsilon}}},
      {"ApplyRMSProp",
       "RMSProp",
       UpdateRule::kRmsProp,
       {{"rho", &KvOptimizer::rho},
        {"momentum", &KvOptimizer::momentum},
        {"epsilon", &KvOptimizer::epsilon}}},
      {"ApplyAdam",
       "Adam",
       UpdateRule::kAdam,
       {{"beta1", &KvOptimizer::beta1},
        {"beta2", &KvOptimizer::beta2},
        {"epsilon", &KvOptimizer::epsilon},
        {"beta1_power", nullptr},
        {"beta2_power", nullptr}}},
      {"ApplyAdamW",
       "AdamW",
       UpdateRule::kAdam,
       {{"beta1", &KvOptimizer::beta1},
        {"beta2", &KvOptimizer::beta2},
        {"epsilon", &KvOptimizer::epsilon},
        {"beta1_power", nullptr},
        {"beta2_power", nullptr},
        {"weight_decay", &KvOptimizer::weight_decay}}}};
  return known;
}

bool is_sparse(const Node& update) {
  return update.op().name.starts_with("Sparse");
}

const Known& known_update(const Node& update) {
  std::string_view op = update.op().name;
  if (is_sparse(update)) op.remove_prefix(std::string_view("Sparse").size());
  std::string names;
  for (const Known& one : known_updates()) {
    if (one.op == op) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw Error(Code::kInvalidArgument,
              fmt::format("parameter servers do not have the optimizer that "
                          "makes \"{}\" ({}): they have {}; take one of them, "
                          "or the strategy ring",
                          update.name(), update.op().name, names));
}

// Where its inputs of known_updates() begin: behind the learning rate.
int first_rate(const Node& update) { return is_sparse(update) ? 3 : 2; }

double number(const Value& value) {
  const auto& tensor = value.node->attrs().get<Tensor>("value");
  return dispatch_float(tensor.dtype(), [&]<class T>() {
    return static_cast<double>(load(tensor.span<T>()[0]));
  });
}

bool is_number(const Value& value) { return value.node->op().name == "Const"; }

std::string_view variable_of(const Node& update) {
  return update.attrs().get<std::string>("variable");
}

Value find_variable(const Graph& graph, std::string_view name) {
  const auto& collections = graph.collections();
  if (const auto all = collections.find(kVariables); all != collections.end())
    for (const Value& one : all->second)
      if (variable_name(one) == name) return one;
  throw Error(Code::kInvalidArgument,
              fmt::format("\"{}\" is no variable of the graph", name));
}

Names powers_of(const Node& update, const Known& known) {
  Names names;
  for (size_t i = 0; i < known.rates.size(); ++i)
    if (known.rates[i].second == nullptr)
      names.push_back(variable_name(
          update.input(first_rate(update) + static_cast<int>(i))));
  return names;
}

Value sent_as(DType wire, const Value& gradient) {
  return gradient.dtype() == DType::kF32 && wire != DType::kF32
             ? cast(gradient, wire)
             : gradient;
}

// Whether both are the same to servers; the graph may have several updates of
// a variable.
bool agree(const Node& a, const Node& b) {
  return a.op().name == b.op().name &&
         a.attrs().get<std::vector<double>>("optimizer") ==
             b.attrs().get<std::vector<double>>("optimizer") &&
         a.attrs().get<Names>("slots") == b.attrs().get<Names>("slots");
}

}  // namespace

KvOptimizer kv_optimizer_of(const Node& update) {
  const Known& known = known_update(update);
  KvOptimizer made{.rule = known.rule, .learning_rate = 0};
  if (known.rule == UpdateRule::kMomentum &&
      update.attrs().get<bool>("use_nesterov"))
    made.rule = UpdateRule::kNesterov;
  if (known.rule == UpdateRule::kRmsProp &&
      update.attrs().get<Names>("slots").size() == 3)
    made.rule = UpdateRule::kCenteredRmsProp;
  const int first = first_rate(update);
  const Value learning_rate = update.input(first - 1);
  if (is_number(learning_rate)) made.learning_rate = number(learning_rate);
  for (size_t i = 0; i < known.rates.size(); ++i) {
    const auto& [what, member] = known.rates[i];
    if (member == nullptr) continue;
    const Value rate = update.input(first + static_cast<int>(i));
    if (!is_number(rate))
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} of \"{}\" is computed by the graph: "
                              "parameter servers take a number; only the "
                              "learning rate may change",
                              what, update.name()));
    made.*member = number(rate);
  }
  return made;
}

Node& server_update(Node& update, const std::string& group, DType wire) {
  Graph& graph = update.graph();
  const Known& known = known_update(update);
  const ParameterOptions options{
      .group = group,
      .key = std::string(variable_of(update)),
      .optimizer = kv_optimizer_of(update).numbers(),
      .slots = update.attrs().get<Names>("slots"),
      .powers = powers_of(update, known),
      .dtype = update.attrs().get<DType>("dtype"),
      .shape = update.attrs().get<PartialShape>("shape")};
  if (!options.shape.known())
    throw Error(Code::kInvalidArgument,
                fmt::format("the shape of \"{}\" is not known: parameter "
                            "servers keep variables of a fixed shape",
                            options.key));
  const Value variable = find_variable(graph, options.key);
  const NameScope scope(graph, group);
  const Value rate = update.input(first_rate(update) - 1);
  const Rows rows =
      is_sparse(update)
          ? push_pull_rows({update.input(0), update.input(1)}, rate, options)
          : Rows{push_pull(sent_as(wire, update.input(0)), rate, options), {}};
  for (const Node* other : pushes_of(graph, group))
    if (other->attrs().get<std::string>("key") == options.key &&
        !agree(*other, *rows.values.node))
      throw Error(Code::kInvalidArgument,
                  fmt::format("\"{}\" is trained in two ways: parameter "
                              "servers keep one optimizer for each variable, "
                              "and take either whole gradients or rows",
                              options.key));
  return rows.indices
             ? *scatter_update(variable, rows.indices, rows.values).node
             : *assign(variable, rows.values).node;
}

std::vector<const Node*> pushes_of(const Graph& graph,
                                   const std::string& group) {
  std::map<std::string_view, const Node*> found;
  std::vector<const Node*> pushes;
  for (const auto& node : graph.nodes()) {
    const std::string_view op = node->op().name;
    if ((op == "PushPull" || op == "PushPullRows") &&
        node->attrs().get<std::string>("group") == group &&
        found.emplace(node->attrs().get<std::string>("key"), node.get()).second)
      pushes.push_back(node.get());
  }
  return pushes;
}

}  // namespace rondo
