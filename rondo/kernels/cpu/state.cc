#include <algorithm>
#include <cstring>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

class ReadVariable final : public Kernel {
 public:
  ReadVariable(const Node& node, Resources& resources)
      : name_(variable_of(node)), variable_(find_variable(node, resources)) {}
  Status run(KernelContext& c) override {
    const std::lock_guard lock(variable_->mutex);
    if (!variable_->initialized) return not_initialized(name_);
    c.set_output(0, variable_->value);
    return {};
  }

 private:
  const std::string name_;
  const std::shared_ptr<VariableResource> variable_;
};

class IsInitialized final : public Kernel {
 public:
  IsInitialized(const Node& node, Resources& resources)
      : name_(variable_of(node)), variable_(find_variable(node, resources)) {}
  Status run(KernelContext& c) override {
    const std::lock_guard lock(variable_->mutex);
    c.allocate(0, DType::kBool, {}).span<bool>()[0] = variable_->initialized;
    return {};
  }

 private:
  const std::string name_;
  const std::shared_ptr<VariableResource> variable_;
};

class Assign final : public Kernel {
 public:
  Assign(const Node& node, Resources& resources)
      : name_(variable_of(node)), variable_(find_variable(node, resources)) {}
  Status run(KernelContext& c) override {
    const std::lock_guard lock(variable_->mutex);
    const Tensor& value = c.input(0);
    // What others still hold, such as a constant, is not for us to change.
    variable_->value = value.unique() ? value : value.clone();
    variable_->initialized = true;
    c.set_output(0, variable_->value);
    return {};
  }

 private:
  const std::string name_;
  const std::shared_ptr<VariableResource> variable_;
};

class AssignAll final : public Kernel {
 public:
  AssignAll(const Node& node, Resources& resources) {
    std::vector<std::string> names = {variable_of(node)};
    for (const auto& name : node.attrs().get<std::vector<std::string>>("slots"))
      names.push_back(name);
    for (size_t i = 0; i < names.size(); ++i)
      variables_.emplace_back(
          resources.find_or_make<VariableResource>("variable/" + names[i])
              .value(),
          i);
    // All are locked at once: by everybody in the same order.
    std::ranges::sort(variables_);
  }
  Status run(KernelContext& c) override {
    std::vector<Tensor> values;  // what may fail, before anything changes
    for (int i = 0; i < c.inputs(); ++i)
      values.push_back(c.input(i).unique() ? c.input(i) : c.input(i).clone());
    std::vector<std::unique_lock<std::mutex>> locks;
    for (const auto& [variable, i] : variables_)
      locks.emplace_back(variable->mutex);
    for (const auto& [variable, i] : variables_) {
      variable->value = std::move(values[i]);
      variable->initialized = true;
    }
    return {};
  }

 private:
  // With the number of the value, in the order of their addresses.
  std::vector<std::pair<std::shared_ptr<VariableResource>, size_t>> variables_;
};

template <bool kSubtract>
class AssignChange final : public Kernel {
 public:
  AssignChange(const Node& node, Resources& resources)
      : name_(variable_of(node)), variable_(find_variable(node, resources)) {}
  Status run(KernelContext& c) override {
    const std::lock_guard lock(variable_->mutex);
    const Tensor& change = c.input(0);
    RONDO_RETURN_IF_ERROR(
        check_shape(*variable_, name_, change.shape(), "the change"));
    Tensor& value = own_value(*variable_);
    dispatch_number(value.dtype(), [&]<class T>() {
      const auto to = value.span<T>();
      const auto by = change.span<T>();
      for (size_t i = 0; i < to.size(); ++i) {
        const auto d = load(by[i]);
        to[i] = store<T>(static_cast<Computed<T>>(kSubtract ? load(to[i]) - d
                                                            : load(to[i]) + d));
      }
    });
    c.set_output(0, value);
    return {};
  }

 private:
  const std::string name_;
  const std::shared_ptr<VariableResource> variable_;
};

template <bool kAdd>
class Scatter final : public Kernel {
 public:
  Scatter(const Node& node, Resources& resources)
      : name_(variable_of(node)), variable_(find_variable(node, resources)) {}
  Status run(KernelContext& c) override {
    const std::lock_guard lock(variable_->mutex);
    if (!variable_->initialized) return not_initialized(name_);
    const Tensor& indices = c.input(0);
    const Tensor& rows = c.input(1);
    Tensor& value = own_value(*variable_);
    if (value.shape().rank() == 0)
      return error(Code::kInvalidArgument, "\"{}\" is a scalar", name_);
    const int64_t extent = value.shape()[0];
    const int64_t width = extent == 0 ? 0 : value.count() / extent;
    if (rows.count() != indices.count() * width)
      return error(Code::kInvalidArgument,
                   "the rows have shape {}, which are not {} rows of \"{}\" {}",
                   rows.shape().to_string(), indices.count(), name_,
                   value.shape().to_string());
    for (int64_t k = 0; k < indices.count(); ++k) {
      const int64_t row = index_at(indices, k);
      if (row < 0 || row >= extent)
        return error(Code::kInvalidArgument,
                     "index {} is {}, out of range for \"{}\" {}", k, row,
                     name_, value.shape().to_string());
    }
    dispatch_any(value.dtype(), [&]<class T>() {
      for (int64_t k = 0; k < indices.count(); ++k) {
        T* to = value.span<T>().data() + index_at(indices, k) * width;
        const T* from = rows.span<T>().data() + k * width;
        for (int64_t i = 0; i < width; ++i) {
          if constexpr (kAdd)
            to[i] =
                store<T>(static_cast<Computed<T>>(load(to[i]) + load(from[i])));
          else
            to[i] = from[i];
        }
      }
    });
    c.set_output(0, value);
    return {};
  }

 private:
  const std::string name_;
  const std::shared_ptr<VariableResource> variable_;
};

}  // namespace

void register_state_kernels(KernelRegistry& kernels) {
  kernels.add("Variable", "cpu", from_class<ReadVariable>());
  kernels.add("IsInitialized", "cpu", from_class<IsInitialized>());
  kernels.add("Assign", "cpu", from_class<Assign>());
  kernels.add("AssignAll", "cpu", from_class<AssignAll>());
  kernels.add("AssignAdd", "cpu", from_class<AssignChange<false>>());
  kernels.add("AssignSub", "cpu", from_class<AssignChange<true>>());
  kernels.add("ScatterUpdate", "cpu", from_class<Scatter<false>>());
  kernels.add("ScatterAdd", "cpu", from_class<Scatter<true>>());
}

}  // namespace rondo
