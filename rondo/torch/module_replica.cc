#include <unordered_set>
#include <utility>

#include "rondo/torch/distributed_data_parallel.h"
#include "rondo/torch/elements.h"
#include "rondo/torch/gradient_reducer.h"
#include "rondo/torch/same_module.h"

namespace rondo::torch {
namespace {

using Items = std::vector<NamedParameter>;

// A tensor that a module has under two names is there once.
Items distinct(const ::torch::OrderedDict<std::string, at::Tensor>& named) {
  std::unordered_set<const void*> seen;
  Items items;
  for (const auto& item : named)
    if (item.value().defined() &&
        seen.insert(item.value().unsafeGetTensorImpl()).second)
      items.push_back({item.key(), item.value()});
  return items;
}

std::vector<at::Tensor> tensors_of(const Items& items) {
  std::vector<at::Tensor> tensors;
  for (const auto& item : items) tensors.push_back(item.tensor);
  return tensors;
}

std::string line_of(const char* kind, const NamedParameter& item) {
  return fmt::format("{} {} of {}{}", kind, item.name, described(item.tensor),
                     item.tensor.requires_grad() ? "" : " without a gradient");
}

Status check_usable(const NamedParameter& item) {
  if (item.tensor.device().is_cpu() && item.tensor.layout() == at::kStrided)
    return {};
  return error(Code::kInvalidArgument,
               "{} is on {} or not dense; Rondo's DistributedDataParallel is "
               "for dense tensors on the CPU",
               item.name, item.tensor.device().str());
}

}  // namespace

class ModuleReplica::Impl {
 public:
  Impl(const ::torch::nn::Module& module, Communicator comm,
       const DistributedDataParallelOptions& options)
      : comm_(std::move(comm)), options_(options) {
    Items parameters = distinct(module.named_parameters());
    const Items buffers = distinct(module.named_buffers());
    buffers_ = tensors_of(buffers);
    agree(parameters, buffers).value();
    std::erase_if(parameters,
                  [](const auto& p) { return !p.tensor.requires_grad(); });
    if (parameters.empty())
      throw Error(
          Code::kInvalidArgument,
          "DistributedDataParallel: no parameter of the module requires "
          "a gradient; there is nothing to average");
    reducer_ = GradientReducer::make(std::move(parameters), comm_, options_);
  }

  void begin_forward() {
    const bool training = at::GradMode::is_enabled();
    if (training) reducer_->expect(sync_);
    if (options_.broadcast_buffers && buffers_due_)
      told(broadcast_tensors(comm_, buffers_), "buffers").value();
    buffers_due_ = training && sync_;
  }

  bool set_sync(bool sync) { return std::exchange(sync_, sync); }

 private:
  Status agree(const Items& parameters, const Items& buffers) {
    if (!comm_.valid())
      return error(Code::kInvalidArgument,
                   "DistributedDataParallel: an empty communicator; take "
                   "Communicator::world().value()");
    // What is wrong on one rank must not keep the others waiting.
    for (const Items* items : {&parameters, &buffers})
      for (const NamedParameter& item : *items)
        if (Status status = told(check_usable(item), "the module");
            !status.ok()) {
          comm_.abort(status.message());
          return status;
        }
    RONDO_RETURN_IF_ERROR(told(
        check_same_lines(comm_, lines(parameters, buffers)), "the module"));
    std::vector<at::Tensor> tensors = tensors_of(parameters);
    tensors.insert(tensors.end(), buffers_.begin(), buffers_.end());
    return told(broadcast_tensors(comm_, tensors), "the module");
  }

  std::vector<std::string> lines(const Items& parameters,
                                 const Items& buffers) const {
    std::vector<std::string> lines;
    for (const auto& item : parameters)
      lines.push_back(line_of("parameter", item));
    for (const auto& item : buffers) lines.push_back(line_of("buffer", item));
    lines.push_back(fmt::format(
        "first_bucket_bytes {}, bucket_bytes {}, broadcast_buffers {}, "
        "find_unused_parameters {}",
        options_.first_bucket_bytes, options_.bucket_bytes,
        options_.broadcast_buffers, options_.find_unused_parameters));
    return lines;
  }

  Status told(const Status& status, const char* what) const {
    if (status.ok()) return status;
    return status.with_context(fmt::format(
        "DistributedDataParallel: rank {}: {}", comm_.rank(), what));
  }

  Communicator comm_;
  const DistributedDataParallelOptions options_;
  std::vector<at::Tensor> buffers_;
  std::shared_ptr<GradientReducer> reducer_;
  bool sync_ = true;
  bool buffers_due_ = true;
};

ModuleReplica::ModuleReplica(const ::torch::nn::Module& module,
                             Communicator comm,
                             const DistributedDataParallelOptions& options)
    : impl_(std::make_unique<Impl>(module, std::move(comm), options)) {}
ModuleReplica::~ModuleReplica() = default;
void ModuleReplica::begin_forward() { impl_->begin_forward(); }
bool ModuleReplica::set_sync(bool sync) { return impl_->set_sync(sync); }

}  // namespace rondo::torch
