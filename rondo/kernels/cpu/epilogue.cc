#include "rondo/kernels/cpu/epilogue.h"

#include <algorithm>

namespace rondo {
namespace {

struct Entry {
  std::string_view name;
  dnnl::algorithm algorithm;
};
constexpr Entry kActivations[] = {
    {"Relu", dnnl::algorithm::eltwise_relu},
    {"LeakyRelu", dnnl::algorithm::eltwise_relu},
    {"Elu", dnnl::algorithm::eltwise_elu},
    {"Gelu", dnnl::algorithm::eltwise_gelu_erf},
    {"GeluTanh", dnnl::algorithm::eltwise_gelu_tanh},
    {"Sigmoid", dnnl::algorithm::eltwise_logistic},
    {"Tanh", dnnl::algorithm::eltwise_tanh},
};

}  // namespace

Epilogue Epilogue::of(const Node& node) {
  Epilogue epilogue{.bias = true};
  const auto& name = node.attrs().get<std::string>("activation");
  if (name.empty()) return epilogue;
  const auto* const entry = std::ranges::find(kActivations, name, &Entry::name);
  if (entry == std::end(kActivations))
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: there is no activation \"{}\"",
                            node.describe(), name));
  epilogue.activation = entry->algorithm;
  epilogue.alpha = static_cast<float>(node.attrs().get<double>("alpha"));
  return epilogue;
}

dnnl::primitive_attr Epilogue::attr() const {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (activation) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0F, *activation, alpha, 0.0F);
    attr.set_post_ops(ops);
  }
  return attr;
}

}  // namespace rondo
