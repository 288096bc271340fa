#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/update_elements.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements

double scalar(const Tensor& t) {
  return dispatch_float(t.dtype(), [&]<class T>() {
    return static_cast<double>(load(t.span<T>()[0]));
  });
}

UpdateRule rule_of(const Node& node) {
  std::string_view name = node.op().name;
  if (name.starts_with("Sparse")) name.remove_prefix(6);
  if (name == "ApplyMomentum")
    return node.attrs().get<bool>("use_nesterov") ? UpdateRule::kNesterov
                                                  : UpdateRule::kMomentum;
  if (name == "ApplyAdagrad") return UpdateRule::kAdagrad;
  if (name == "ApplyRMSProp")
    return node.attrs().get<std::vector<std::string>>("slots").size() == 3
               ? UpdateRule::kCenteredRmsProp
               : UpdateRule::kRmsProp;
  if (name == "ApplyAdam" || name == "ApplyAdamW") return UpdateRule::kAdam;
  return UpdateRule::kGradientDescent;
}

// From the inputs of the operation, of which the rates begin at `first`.
UpdateRates rates_of(UpdateRule rule, KernelContext& c, int first) {
  auto rate = [&](int i) { return scalar(c.input(first + i)); };
  UpdateRates rates;
  rates.learning_rate = rate(0);
  switch (rule) {
    case UpdateRule::kGradientDescent: break;
    case UpdateRule::kMomentum:
    case UpdateRule::kNesterov: rates.momentum = rate(1); break;
    case UpdateRule::kAdagrad: rates.epsilon = rate(1); break;
    case UpdateRule::kRmsProp:
    case UpdateRule::kCenteredRmsProp:
      rates.rho = rate(1);
      rates.momentum = rate(2);
      rates.epsilon = rate(3);
      break;
    case UpdateRule::kAdam:
      rates.beta1 = rate(1);
      rates.beta2 = rate(2);
      rates.epsilon = rate(3);
      if (c.inputs() - first == 7)
        rates.keep = 1 - rates.learning_rate * rate(6);
      rates.learning_rate *= std::sqrt(1 - rate(5)) / (1 - rate(4));
      break;
  }
  return rates;
}

class Update : public Kernel {
 public:
  Update(const Node& node, Resources& resources) : rule_(rule_of(node)) {
    names_ = node.attrs().get<std::vector<std::string>>("slots");
    names_.insert(names_.begin(), variable_of(node));
    for (const std::string& name : names_)
      variables_.push_back(
          resources.find_or_make<VariableResource>("variable/" + name).value());
    for (const auto& variable : variables_) in_order_.push_back(variable.get());
    std::sort(in_order_.begin(), in_order_.end());
  }

  Status run(KernelContext& c) final {
    // Updates that share variables lock them in the same order.
    std::array<std::unique_lock<std::mutex>, 1 + kMostSlots> locks;
    for (size_t i = 0; i < in_order_.size(); ++i)
      locks[i] = std::unique_lock(in_order_[i]->mutex);
    RONDO_RETURN_IF_ERROR(check_variables());
    const Tensor& parameter = variables_[0]->value;
    if (c.input(0).dtype() != parameter.dtype())
      return error(Code::kInvalidArgument,
                   "the gradient has type {}, the variable \"{}\" {}",
                   name_of(c.input(0).dtype()), names_[0],
                   name_of(parameter.dtype()));
    RONDO_RETURN_IF_ERROR(check_gradient_of(c, parameter));
    UpdateTarget at;
    at.parameter = &own_value(*variables_[0]);
    at.slot_count = variables_.size() - 1;
    for (size_t k = 0; k < at.slot_count; ++k)
      at.slots[k] = &own_value(*variables_[k + 1]);
    update(c, at);
    c.set_output(0, *at.parameter);
    return {};
  }

 protected:
  virtual Status check_gradient_of(KernelContext& c,
                                   const Tensor& parameter) = 0;
  virtual void update(KernelContext& c, const UpdateTarget& at) = 0;
  const std::string& name() const { return names_[0]; }

  const UpdateRule rule_;

 private:
  Status check_variables() const {
    for (size_t k = 0; k < variables_.size(); ++k) {
      const VariableResource& variable = *variables_[k];
      if (!variable.initialized) return not_initialized(names_[k]);
      const Tensor& first = variables_[0]->value;
      if (variable.value.dtype() != first.dtype() ||
          variable.value.shape() != first.shape())
        return error(Code::kInvalidArgument,
                     "the slot \"{}\" is {}{}, the variable \"{}\" {}{}",
                     names_[k], name_of(variable.value.dtype()),
                     variable.value.shape().to_string(), names_[0],
                     name_of(first.dtype()), first.shape().to_string());
    }
    return {};
  }

  std::vector<std::string> names_;  // the variable's, then the slots'
  std::vector<std::shared_ptr<VariableResource>> variables_;
  std::vector<VariableResource*> in_order_;  // in which they are locked
};

class DenseUpdate final : public Update {
 public:
  using Update::Update;

 private:
  Status check_gradient_of(KernelContext& c, const Tensor& parameter) override {
    if (c.input(0).shape() == parameter.shape()) return {};
    return error(Code::kInvalidArgument,
                 "the gradient has shape {}, the variable \"{}\" {}",
                 c.input(0).shape().to_string(), name(),
                 parameter.shape().to_string());
  }
  void update(KernelContext& c, const UpdateTarget& at) override {
    const UpdateRates rates = rates_of(rule_, c, 1);
    dispatch_float(at.parameter->dtype(), [&]<class T>() {
      const T* gradient = c.input(0).span<T>().data();
      parallel_for(at.parameter->count(), kGrain,
                   [&](int64_t begin, int64_t end) {
                     update_elements<T>(rule_, rates, at, begin,
                                        gradient + begin, end - begin);
                   });
    });
  }
};

class SparseUpdate final : public Update {
 public:
  using Update::Update;

 private:
  Status check_gradient_of(KernelContext& c, const Tensor& parameter) override {
    const Tensor& rows = c.input(0);
    const Tensor& indices = c.input(1);
    if (parameter.shape().rank() == 0)
      return error(Code::kInvalidArgument, "\"{}\" is a scalar", name());
    const int64_t extent = parameter.shape()[0];
    const int64_t width = extent == 0 ? 0 : parameter.count() / extent;
    for (int64_t k = 0; k < indices.count(); ++k) {
      const int64_t row = index_at(indices, k);
      if (row < 0 || row >= extent)
        return error(Code::kInvalidArgument,
                     "index {} is {}, out of range for \"{}\" {}", k, row,
                     name(), parameter.shape().to_string());
    }
    if (rows.count() != indices.count() * width)
      return error(Code::kInvalidArgument,
                   "the rows have shape {}, which are not {} rows of \"{}\" {}",
                   rows.shape().to_string(), indices.count(), name(),
                   parameter.shape().to_string());
    return {};
  }
  void update(KernelContext& c, const UpdateTarget& at) override {
    const Tensor& indices = c.input(1);
    if (c.input(0).count() == 0) return;
    const int64_t width = at.parameter->count() / at.parameter->shape()[0];
    const UpdateRates rates = rates_of(rule_, c, 2);
    // Equal indices side by side, in the order in which they came.
    const auto count = static_cast<size_t>(indices.count());
    std::vector<std::pair<int64_t, int64_t>> order(count);
    for (size_t k = 0; k < count; ++k)
      order[k] = {index_at(indices, static_cast<int64_t>(k)),
                  static_cast<int64_t>(k)};
    std::sort(order.begin(), order.end());
    std::vector<size_t> groups;
    for (size_t k = 0; k < count; ++k)
      if (k == 0 || order[k].first != order[k - 1].first) groups.push_back(k);
    groups.push_back(count);
    dispatch_float(at.parameter->dtype(), [&]<class T>() {
      const T* rows = c.input(0).span<T>().data();
      parallel_for(static_cast<int64_t>(groups.size()) - 1, kGrain / width + 1,
                   [&](int64_t begin, int64_t end) {
                     std::vector<Computed<T>> sum;
                     std::vector<T> stored;
                     for (auto g = static_cast<size_t>(begin);
                          g < static_cast<size_t>(end); ++g) {
                       const auto [row, first] = order[groups[g]];
                       const T* gradient = rows + first * width;
                       if (groups[g + 1] - groups[g] > 1) {
                         sum.assign(static_cast<size_t>(width), 0);
                         for (size_t k = groups[g]; k < groups[g + 1]; ++k) {
                           const T* from = rows + order[k].second * width;
                           for (size_t i = 0; i < sum.size(); ++i)
                             sum[i] += load(from[i]);
                         }
                         stored.resize(sum.size());
                         for (size_t i = 0; i < sum.size(); ++i)
                           stored[i] = store<T>(sum[i]);
                         gradient = stored.data();
                       }
                       update_elements<T>(rule_, rates, at, row * width,
                                          gradient, width);
                     }
                   });
    });
  }
};

}  // namespace

void register_update_kernels(KernelRegistry& kernels) {
  for (const std::string name :
       {"ApplyGradientDescent", "ApplyMomentum", "ApplyAdagrad", "ApplyRMSProp",
        "ApplyAdam", "ApplyAdamW"}) {
    kernels.add(name, "cpu", from_class<DenseUpdate>());
    kernels.add("Sparse" + name, "cpu", from_class<SparseUpdate>());
  }
}

}  // namespace rondo
