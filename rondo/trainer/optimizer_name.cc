#include "rondo/trainer/optimizer_name.h"

#include <fmt/format.h>

namespace rondo {
namespace {

constexpr OptimizerName kOptimizers[] = {
    {"sgd", 0.1,
     [](const Rate& rate) -> std::unique_ptr<Optimizer> {
       return std::make_unique<GradientDescent>(
           GradientDescentOptions{.learning_rate = rate});
     }},
    {"momentum", 0.05,
     [](const Rate& rate) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Momentum>(
           MomentumOptions{.learning_rate = rate});
     }},
    {"adam", 0.001,
     [](const Rate& rate) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Adam>(AdamOptions{.learning_rate = rate});
     }},
};

}  // namespace

const OptimizerName* find_optimizer(std::string_view name) {
  for (const OptimizerName& known : kOptimizers)
    if (known.name == name) return &known;
  return nullptr;
}

std::string optimizer_names() {
  std::string names;
  for (const OptimizerName& known : kOptimizers)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

}  // namespace rondo
