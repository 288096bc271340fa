#include "rondo/plan/method.h"

namespace rondo {

std::string_view name_of(MethodKind kind) {
  switch (kind) {
    case MethodKind::kNaive: return "naive";
    case MethodKind::kStar: return "star";
    case MethodKind::kTree: return "tree";
    case MethodKind::kButterfly: return "butterfly";
    case MethodKind::kRing: return "ring";
    case MethodKind::kDirect: return "direct";
    case MethodKind::kHierarchical: return "hierarchical";
    case MethodKind::kServers: return "ps";
    case MethodKind::kHybrid: return "hybrid";
  }
  return "";
}

std::string Method::name() const {
  std::string name(name_of(kind));
  if (spare > 0) name += fmt::format(" {}", spare);
  if (beside) name += " beside workers";
  if (factors) name += ", factors";
  if (bf16) name += ", bf16";
  return name;
}

std::vector<Method> methods_for(const Network& network) {
  std::vector<Method> methods;
  for (const MethodKind kind :
       {MethodKind::kNaive, MethodKind::kStar, MethodKind::kTree,
        MethodKind::kButterfly, MethodKind::kRing})
    methods.push_back({.kind = kind});
  if (network.hosts == 1) methods.push_back({.kind = MethodKind::kDirect});
  if (network.hosts > 1 && network.most_on_a_host() > 1)
    methods.push_back({.kind = MethodKind::kHierarchical});
  // On one host nothing is gained by going out to other machines.
  if (network.workers == 1 || network.hosts == 1) return methods;
  const auto add = [&](Method method) {
    for (method.spare = 1; method.spare < network.workers; method.spare *= 2)
      methods.push_back(method);
    method.spare = network.workers;
    methods.push_back(method);
  };
  add({.kind = MethodKind::kServers, .beside = true});
  add({.kind = MethodKind::kServers});
  add({.kind = MethodKind::kHybrid});
  return methods;
}

double spare_share(const Method& method, const Network& network) {
  const double k = method.spare;
  const double n = network.workers;
  if (k == 0) return 0;
  if (method.kind == MethodKind::kServers || k >= n) return 1;
  return 2 * k * (n - 1) / (n * n + k * n - 2 * k);
}

}  // namespace rondo
