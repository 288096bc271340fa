#include "rondo/graph/host_function.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

class HostCall final : public Kernel {
 public:
  explicit HostCall(const Node& node)
      : types_(node.attrs().get<std::vector<DType>>("types")),
        function_(host_function_of(node)) {
    if (!function_)
      throw Error(Code::kInvalidArgument,
                  "its function belongs to the program that made it, which a "
                  "saved graph does not have: attach one to the graph");
  }

  Status run(KernelContext& c) override {
    const std::vector<Tensor> inputs = inputs_of(c);
    RONDO_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                           function_->call(inputs));
    if (results.size() != types_.size())
      return error(Code::kInvalidArgument,
                   "its function gave {} results, expected {}", results.size(),
                   types_.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].dtype() != types_[i])
        return error(Code::kInvalidArgument,
                     "result {} of its function has type {}, expected {}", i,
                     name_of(results[i].dtype()), name_of(types_[i]));
      if (!results[i].has_buffer() && results[i].count() > 0)
        return error(Code::kInvalidArgument,
                     "result {} of its function has no memory: it was moved "
                     "from",
                     i);
      // Of no elements; an output without memory would be dead.
      if (!results[i].has_buffer())
        results[i] = c.scratch(types_[i], results[i].shape());
      c.set_output(static_cast<int>(i), std::move(results[i]));
    }
    return {};
  }

 private:
  static std::vector<Tensor> inputs_of(KernelContext& c) {
    std::vector<Tensor> inputs;
    inputs.reserve(static_cast<size_t>(c.inputs()));
    for (int i = 0; i < c.inputs(); ++i) inputs.push_back(c.input(i));
    return inputs;
  }

  const std::vector<DType> types_;
  const std::shared_ptr<const HostFunction> function_;
};

Status run_custom_gradient(const Node&, KernelContext& c) {
  for (int i = 0; i < c.outputs(); ++i) c.set_output(i, c.input(i));
  return {};
}

}  // namespace

void register_host_call_kernels(KernelRegistry& kernels) {
  kernels.add("HostCall", "cpu", from_class<HostCall>());
  kernels.add("CustomGradient", "cpu", from_function(run_custom_gradient));
}

}  // namespace rondo
