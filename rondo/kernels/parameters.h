// Parameters: variables that other processes keep and change. Operations reach
// them by it, and do not know how; rondo/train/ has the one on parameter
// servers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

struct Parameter {
  std::string key;
  std::vector<double> optimizer;  // as rondo/ps has it
  bool by_rows = false;
  // Its value, what the optimizer keeps, and the powers of Adam's betas.
  std::vector<Tensor> tensors = {};
};

// Calls with `done` return at once; it is called once, from any thread, maybe
// before they return. Their tensors are used until then. Any thread.
class Parameters {
 public:
  using Done = std::function<void(const Status&)>;
  struct Rows {
    Tensor indices;  // i64
    Tensor rows;
  };
  virtual ~Parameters() = default;

  // All ranks, between the same steps and with the same values: these are kept.
  // Waits.
  virtual Status set(std::vector<Parameter> parameters) = 0;
  // Sends a gradient, and puts the new value into memory of its shape.
  virtual void push_pull(const std::string& key, const Tensor& gradient,
                         double learning_rate, const Tensor& into,
                         Done done) = 0;
  // Sends rows, and gets those that anybody has changed since.
  virtual void push_pull_rows(const std::string& key, const Rows& gradient,
                              double learning_rate,
                              std::shared_ptr<Rows> changed, Done done) = 0;
  // Rows that push_pull_rows() gave, or will give to calls that are under way,
  // may be lost: the next one gives all.
  virtual void forget_rows(const std::string& key) = 0;
  // What the optimizer keeps.
  virtual void pull_slots(const std::string& key, std::vector<Tensor> into,
                          Done done) = 0;
  // A step failed here, with pushes that it made, or did not make.
  virtual void give_up(const std::string& reason) = 0;
};

}  // namespace rondo
