#include "rondo/train/server_rules.h"

#include "rondo/cluster/wire.h"
#include "rondo/train/strategy_name.h"

namespace rondo {
namespace {

constexpr const char* kKey = "ps/rules";

std::string described(const KvRules& rules) {
  const std::string name = strategy_name(rules.mode);
  return rules.mode == KvMode::kBounded
             ? fmt::format("{} with staleness {}", name, rules.staleness)
             : name;
}

}  // namespace

Status publish_rules(Store& store, const KvRules& rules) {
  return store.set(kKey, wire::Writer()
                             .number(static_cast<int64_t>(rules.mode))
                             .number(rules.workers)
                             .number(rules.backup)
                             .number(rules.staleness)
                             .take());
}

Result<KvRules> wait_for_rules(Store& store, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(const std::string text, store.get(kKey, deadline));
  wire::Reader reader(text);
  KvRules rules;
  const int64_t mode = reader.number();
  rules.workers = static_cast<int>(reader.number());
  rules.backup = static_cast<int>(reader.number());
  rules.staleness = reader.number();
  if (!reader.ok() || mode < 0 || mode > static_cast<int64_t>(KvMode::kBounded))
    return error(Code::kInternal,
                 "the rules of the job's parameter servers make no sense; are "
                 "all processes of the same version of rondo?");
  rules.mode = static_cast<KvMode>(mode);
  return rules;
}

Status check_rules(Store& store, const KvRules& ours, Deadline deadline) {
  const Result<KvRules> rules = wait_for_rules(store, deadline);
  if (!rules.ok())
    return rules.status().with_context("how rank 0 trains is not known");
  if (described(*rules) == described(ours)) return {};
  return error(Code::kMismatch,
               "this rank trains by {}, but rank 0 by {}: all ranks have to "
               "give the same",
               described(ours), described(*rules));
}

}  // namespace rondo
