#include "rondo/train/server_rules.h"

#include "rondo/cluster/wire.h"

namespace rondo {
namespace {

constexpr const char* kKey = "ps/rules";

struct Published {
  KvRules rules;
  std::string strategy;
};

Result<Published> wait_for(Store& store, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(const std::string text, store.get(kKey, deadline));
  wire::Reader reader(text);
  Published made;
  const int64_t mode = reader.number();
  made.rules.workers = static_cast<int>(reader.number());
  made.rules.backup = static_cast<int>(reader.number());
  made.rules.staleness = reader.number();
  made.strategy = reader.text();
  if (!reader.ok() || mode < 0 || mode > static_cast<int64_t>(KvMode::kBounded))
    return error(Code::kInternal,
                 "the rules of the job's parameter servers make no sense; are "
                 "all processes of the same version of rondo?");
  made.rules.mode = static_cast<KvMode>(mode);
  return made;
}

}  // namespace

Status publish_rules(Store& store, const KvRules& rules,
                     const std::string& strategy) {
  return store.set(kKey, wire::Writer()
                             .number(static_cast<int64_t>(rules.mode))
                             .number(rules.workers)
                             .number(rules.backup)
                             .number(rules.staleness)
                             .text(strategy)
                             .take());
}

Result<KvRules> wait_for_rules(Store& store, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(const Published published, wait_for(store, deadline));
  return published.rules;
}

Status check_strategy(Store& store, const std::string& ours,
                      Deadline deadline) {
  const Result<Published> published = wait_for(store, deadline);
  if (!published.ok())
    return published.status().with_context("how rank 0 trains is not known");
  if (published->strategy == ours) return {};
  return error(Code::kMismatch,
               "this rank trains by {}, but rank 0 by {}: all ranks have to "
               "give the same",
               ours, published->strategy);
}

}  // namespace rondo
