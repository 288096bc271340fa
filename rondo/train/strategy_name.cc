#include "rondo/train/strategy_name.h"

#include <utility>

namespace rondo {
namespace {

constexpr std::pair<std::string_view, StrategyKind> kNames[] = {
    {"single", StrategyKind::kSingle},  {"ring", StrategyKind::kRing},
    {"allreduce", StrategyKind::kRing}, {"hybrid", StrategyKind::kHybrid},
    {"ps", StrategyKind::kPs},          {"ps-async", StrategyKind::kPsAsync},
    {"ssp", StrategyKind::kSsp}};

}  // namespace

Result<StrategyKind> parse_strategy(std::string_view name) {
  std::string known;
  for (const auto& [its, kind] : kNames) {
    if (its == name) return kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", its);
  }
  return error(Code::kInvalidArgument,
               "there is no strategy \"{}\"; there are {}", name, known);
}

std::string strategy_name(KvMode mode) {
  return mode == KvMode::kSync    ? "ps"
         : mode == KvMode::kAsync ? "ps-async"
                                  : "ssp";
}

}  // namespace rondo
