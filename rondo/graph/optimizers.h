// Optimizers: the nodes that train a model.
//
//   Adam adam({.learning_rate = 0.001});
//   Node& train = adam.minimize(loss);
//   session.run(initializer(graph));
//   session.run(train, feeds);
//
// What an optimizer keeps for a variable is a variable too, named
// "<variable>/<optimizer>/<what>", not trainable, of the same type and shape,
// set by initializer().
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// A rate: a number, or a scalar of the graph, such as one that is fed or
// computed from the number of steps.
class RONDO_API Rate {
 public:
  Rate(double number) : number_(number) {}
  Rate(Value value) : value_(value) {}
  Value in(Graph& graph, DType dtype) const;

 private:
  double number_ = 0;
  Value value_;
};

struct GradientAndVariable {
  Gradient gradient;
  Value variable;
};

struct MinimizeOptions {
  // Empty: those of the collection "trainable_variables".
  std::vector<Value> variables = {};
  // A variable that grows by one with each step.
  Value global_step = {};
  std::string name = {};  // empty: the optimizer's
};

// Keeps what it made for each variable, so it may be asked for several updates
// of the same graph, and must not outlive it.
class RONDO_API Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Gradients of the sum of all elements of loss; empty where it does not
  // depend on a variable.
  static std::vector<GradientAndVariable> compute_gradients(
      Value loss, std::vector<Value> variables = {});
  // A node that changes each variable by its gradient; variables without one
  // stay as they are. Throws when none has one.
  virtual Node& apply_gradients(
      const std::vector<GradientAndVariable>& gradients, Value global_step = {},
      const std::string& name = {});
  // As Optimizer's apply_gradients, but what `instead` makes of an update runs
  // in its place: for a strategy.
  using Instead = std::function<Node&(Node& update)>;
  Node& apply_instead(const std::vector<GradientAndVariable>& gradients,
                      Value global_step, const std::string& name,
                      const Instead& instead);
  // Both.
  Node& minimize(Value loss, const MinimizeOptions& options = {});

  const std::string& name() const { return name_; }
  // What it keeps for a variable: ("velocity"); empty when it has none.
  virtual Value slot(Value variable, std::string_view what) const;

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  // Before the first update of a graph, and after all updates of a step: what
  // is to run then.
  virtual void prepare(Graph&) {}
  virtual std::vector<Node*> finish(Graph&) { return {}; }
  virtual Value update(Value variable, const Gradient& gradient) = 0;

  // The slot of this name, made where there is none, with every element
  // `initial` at first.
  Value get_slot(Value variable, std::string_view what, double initial = 0);
  // A variable that does not belong to one of the model's.
  Value get_own(Graph& graph, std::string_view what, double initial);

 private:
  const std::string name_;
  std::map<std::string, Value, std::less<>> slots_;  // by "variable/what"
};

struct GradientDescentOptions {
  Rate learning_rate = 0.01;
};
class RONDO_API GradientDescent final : public Optimizer {
 public:
  explicit GradientDescent(GradientDescentOptions options = {})
      : Optimizer("GradientDescent"), options_(options) {}

 private:
  Value update(Value variable, const Gradient& gradient) override;
  const GradientDescentOptions options_;
};

struct MomentumOptions {
  Rate learning_rate = 0.01;
  Rate momentum = 0.9;
  bool nesterov = false;
};
// Slot: velocity.
class RONDO_API Momentum final : public Optimizer {
 public:
  explicit Momentum(MomentumOptions options = {})
      : Optimizer("Momentum"), options_(options) {}

 private:
  Value update(Value variable, const Gradient& gradient) override;
  const MomentumOptions options_;
};

struct AdagradOptions {
  Rate learning_rate = 0.01;
  double initial_accumulator = 0.1;
  Rate epsilon = 0.0;
};
// Slot: accumulator.
class RONDO_API Adagrad final : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options = {})
      : Optimizer("Adagrad"), options_(options) {}

 private:
  Value update(Value variable, const Gradient& gradient) override;
  const AdagradOptions options_;
};

struct RmsPropOptions {
  Rate learning_rate = 0.001;
  Rate rho = 0.9;
  Rate momentum = 0.0;
  Rate epsilon = 1e-10;
  bool centered = false;
};
// Slots: square (1 at first), velocity, and mean when it is centered.
class RONDO_API RmsProp final : public Optimizer {
 public:
  explicit RmsProp(RmsPropOptions options = {})
      : Optimizer("RMSProp"), options_(options) {}

 private:
  Value update(Value variable, const Gradient& gradient) override;
  const RmsPropOptions options_;
};

struct AdamOptions {
  Rate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  Rate epsilon = 1e-8;
};
// Slots: m, v. The powers of the betas are variables "Adam/beta1_power" and
// "Adam/beta2_power".
class RONDO_API Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {}) : Adam(options, "Adam") {}

 protected:
  Adam(AdamOptions options, std::string name)
      : Optimizer(std::move(name)), options_(options) {}
  Value update(Value variable, const Gradient& gradient) override;
  void prepare(Graph& graph) override;
  std::vector<Node*> finish(Graph& graph) override;
  // With weight decay where there is a value.
  Value update_with(Value variable, const Gradient& gradient,
                    Value weight_decay);

 private:
  const AdamOptions options_;
  Value beta1_power_, beta2_power_;
};

struct AdamWOptions {
  Rate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  Rate epsilon = 1e-8;
  Rate weight_decay = 0.01;
};
// Adam, and weights shrink by learning_rate * weight_decay in each step.
class RONDO_API AdamW final : public Adam {
 public:
  explicit AdamW(AdamWOptions options = {})
      : Adam({options.learning_rate, options.beta1, options.beta2,
              options.epsilon},
             "AdamW"),
        weight_decay_(options.weight_decay) {}

 private:
  Value update(Value variable, const Gradient& gradient) override;
  const Rate weight_decay_;
};

}  // namespace rondo
