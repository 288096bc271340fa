#include "rondo/train/strategy_name.h"

#include <climits>
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

Status check_backup(std::string_view said, int64_t backup, StrategyKind kind,
                    int ranks) {
  if (backup < 0)
    return error(Code::kInvalidArgument,
                 "{}: expected a number of ranks from 0", said);
  if (backup > 0 && kind != StrategyKind::kPs)
    return error(Code::kInvalidArgument,
                 "{}: only the strategy ps has backup workers; add --strategy "
                 "ps, or leave them out",
                 said);
  if (backup > 0 && ranks > 0 && backup >= ranks)
    return error(Code::kInvalidArgument,
                 "{}: of {} ranks at least one has to count", said, ranks);
  return {};
}

Result<int> backup_of(const Env& env, StrategyKind kind, int ranks) {
  RONDO_ASSIGN_OR_RETURN(const int64_t backup,
                         env.get_int("RONDO_BACKUP", 0, 0, INT_MAX));
  RONDO_RETURN_IF_ERROR(check_backup(fmt::format("RONDO_BACKUP={}", backup),
                                     backup, kind, ranks));
  return static_cast<int>(backup);
}

std::string strategy_name(KvMode mode) {
  return mode == KvMode::kSync    ? "ps"
         : mode == KvMode::kAsync ? "ps-async"
                                  : "ssp";
}

}  // namespace rondo
