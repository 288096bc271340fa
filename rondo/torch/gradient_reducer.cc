#include "rondo/torch/gradient_reducer.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "rondo/torch/elements.h"

namespace rondo::torch {
namespace {

using ::torch::autograd::variable_list;

// "a", "a, b and c", "a, b, c and 5 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  const size_t shown = names.size() <= kMost ? names.size() - 1 : kMost;
  std::string text = names[0];
  for (size_t i = 1; i < shown; ++i) text += ", " + names[i];
  if (names.size() > kMost)
    return text + fmt::format(" and {} more", names.size() - kMost);
  return names.size() > 1 ? text + " and " + names.back() : text;
}

bool is_at(const at::Tensor& gradient, const at::Tensor& view) {
  return gradient.const_data_ptr() == view.const_data_ptr() &&
         gradient.sizes() == view.sizes() &&
         gradient.strides() == view.strides();
}

}  // namespace

std::shared_ptr<GradientReducer> GradientReducer::make(
    std::vector<NamedParameter> parameters, Communicator comm,
    const DistributedDataParallelOptions& options) {
  std::shared_ptr<GradientReducer> made(
      new GradientReducer(std::move(parameters), std::move(comm), options));
  made->add_hooks();
  return made;
}

GradientReducer::GradientReducer(std::vector<NamedParameter> parameters,
                                 Communicator comm,
                                 const DistributedDataParallelOptions& options)
    : comm_(std::move(comm)),
      find_unused_(options.find_unused_parameters),
      used_(parameters.size()) {
  std::vector<at::Tensor> tensors;
  for (NamedParameter& parameter : parameters) {
    tensors.push_back(parameter.tensor);
    slots_.push_back({.parameter = std::move(parameter)});
  }
  for (auto& members : plan_buckets(tensors, options.first_bucket_bytes,
                                    options.bucket_bytes)) {
    const GradientBucket& bucket =
        buckets_.emplace_back(std::move(members), tensors);
    for (size_t i = 0; i < bucket.members.size(); ++i) {
      slots_[bucket.members[i]].bucket = buckets_.size() - 1;
      slots_[bucket.members[i]].view = bucket.views[i];
    }
  }
}

void GradientReducer::add_hooks() {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.accumulator =
        ::torch::autograd::impl::grad_accumulator(slot.parameter.tensor);
    slot.hook = slot.accumulator->add_post_hook(
        std::make_unique<::torch::autograd::utils::LambdaPostHook>(
            [weak = weak_from_this(), i](const variable_list& outputs,
                                         const variable_list&) {
              if (const auto self = weak.lock()) self->on_gradient(i);
              return outputs;
            }));
  }
}

GradientReducer::~GradientReducer() {
  const MutexLock lock(mutex_);
  for (Slot& slot : slots_) slot.accumulator->del_post_hook(slot.hook);
  if (!under_way_) return;
  // A backward pass has failed. Peers may still write into the buckets.
  comm_.abort(fmt::format("rank {} has left a backward pass", comm_.rank()));
  (void)used_work_.wait();
  for (GradientBucket& bucket : buckets_) (void)bucket.work.wait();
}

void GradientReducer::expect(bool sync) {
  const MutexLock lock(mutex_);
  if (under_way_)
    fail(Code::kInvalidArgument,
         "a forward pass begins, but the backward pass before it has not ended "
         "well");
  mode_ = sync ? Mode::kAverage : Mode::kLocal;
}

void GradientReducer::on_gradient(size_t i) {
  const MutexLock lock(mutex_);
  const at::NoGradGuard guard;
  Slot& slot = slots_[i];
  used_[i] = 1;
  if (mode_ == Mode::kLocal) return;
  if (mode_ == Mode::kNothing)
    fail(Code::kInvalidArgument,
         fmt::format(
             "{} got a gradient that no forward() of DistributedDataParallel "
             "came before: one backward pass may follow it, and the module's "
             "own forward() does not count; use no_sync() to add up gradients "
             "of several",
             slot.parameter.name));
  if (!under_way_) begin();
  if (slot.ready)
    fail(Code::kInvalidArgument,
         fmt::format("{} got a gradient twice in one backward pass",
                     slot.parameter.name));
  put_into_bucket(slot);
  set_ready(slot);
}

void GradientReducer::begin() {
  under_way_ = true;
  ::torch::autograd::Engine::get_default_engine().queue_callback(
      [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_end();
      });
  if (!find_unused_) return;
  const auto* nodes =
      ::torch::autograd::get_current_graph_task_nodes_in_graph();
  for (Slot& slot : slots_) {
    if (nodes->contains(slot.accumulator.get())) continue;
    put_into_bucket(slot);
    set_ready(slot);
  }
}

void GradientReducer::put_into_bucket(Slot& slot) {
  at::Tensor& gradient = slot.parameter.tensor.mutable_grad();
  if (!gradient.defined()) {
    slot.view.zero_();
    return;
  }
  const bool dense = gradient.layout() == at::kStrided;
  if (!dense || gradient.scalar_type() != slot.view.scalar_type() ||
      gradient.sizes() != slot.view.sizes())
    fail(Code::kInvalidArgument,
         fmt::format("the gradient of {} is {}; it has to be dense, and of the "
                     "dtype and shape that the parameter had when "
                     "DistributedDataParallel was made",
                     slot.parameter.name,
                     dense ? described(gradient) : "not dense"));
  if (is_at(gradient, slot.view)) return;
  slot.view.copy_(gradient);
  gradient = slot.view;
}

void GradientReducer::set_ready(Slot& slot) {
  slot.ready = true;
  --buckets_[slot.bucket].missing;
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_)
    buckets_[next_].work = comm_.allreduce_async(
        view_of(buckets_[next_].vector), {.op = ReduceOp::kAvg});
}

void GradientReducer::on_end() {
  const MutexLock lock(mutex_);
  const at::NoGradGuard guard;
  check_all_ready();
  wait();
  give_gradients();
  std::ranges::fill(used_, 0);
  for (Slot& slot : slots_) slot.ready = false;
  for (GradientBucket& bucket : buckets_)
    bucket.missing = bucket.members.size();
  under_way_ = false;
  next_ = 0;
  mode_ = Mode::kNothing;
}

void GradientReducer::check_all_ready() {
  std::vector<std::string> names;
  for (const Slot& slot : slots_)
    if (!slot.ready) names.push_back(slot.parameter.name);
  if (names.empty()) return;
  fail(
      Code::kInvalidArgument,
      fmt::format(
          "the backward pass gave no gradient for {} ({} of {} parameters). If "
          "a step may do without them, set find_unused_parameters; if they "
          "are never used, set requires_grad of them to false",
          listed(names), names.size(), slots_.size()));
}

void GradientReducer::wait() {
  // Which gradients there are is asked last, so that it holds nothing up.
  if (find_unused_)
    used_work_ = comm_.allreduce_async(used_, {.op = ReduceOp::kMax});
  for (GradientBucket& bucket : buckets_) {
    std::vector<std::string> names;
    for (const size_t i : bucket.members)
      names.push_back(slots_[i].parameter.name);
    wait_for(bucket.work, fmt::format("gradients of {}", listed(names)));
  }
  if (find_unused_) wait_for(used_work_, "which parameters are used");
}

void GradientReducer::wait_for(Work& work, const std::string& what) {
  const Status status = work.wait();
  if (!status.ok())
    status
        .with_context(fmt::format("DistributedDataParallel: rank {}: {}",
                                  comm_.rank(), what))
        .value();
}

void GradientReducer::give_gradients() {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (!find_unused_ || used_[i] != 0)
      slots_[i].parameter.tensor.mutable_grad() = slots_[i].view;
}

void GradientReducer::fail(Code code, const std::string& text) {
  const std::string whole =
      fmt::format("DistributedDataParallel: rank {}: {}", comm_.rank(), text);
  comm_.abort(whole);
  throw Error(code, whole);
}

}  // namespace rondo::torch
