#include "rondo/plan/method.h"

#include <algorithm>
#include <charconv>

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

Result<Method> method_named(std::string_view name) {
  const auto wrong = [&] {
    return error(Code::kInvalidArgument,
                 "there is no method \"{}\"; there are naive, star, tree, "
                 "butterfly, ring, direct, hierarchical, and with spare "
                 "machines ps 1, hybrid 1, ..., or ps 1 beside workers; behind "
                 "a name may stand "
                 "\", factors\" and \", bf16\"",
                 name);
  };
  std::string_view left = name;
  const auto take_off = [&](std::string_view end) {
    if (!left.ends_with(end)) return false;
    left.remove_suffix(end.size());
    return true;
  };
  Method method;
  method.bf16 = take_off(", bf16");
  method.factors = take_off(", factors");
  method.beside = take_off(" beside workers");
  const size_t space = left.find(' ');
  if (space != std::string_view::npos) {
    const std::string_view number = left.substr(space + 1);
    const char* end = number.data() + number.size();
    const auto [rest, failed] =
        std::from_chars(number.data(), end, method.spare);
    if (failed != std::errc() || rest != end || method.spare < 1)
      return wrong();
    left = left.substr(0, space);
  }
  for (int kind = 0; kind <= static_cast<int>(MethodKind::kHybrid); ++kind) {
    method.kind = static_cast<MethodKind>(kind);
    if (name_of(method.kind) != left) continue;
    const bool serves = method.kind == MethodKind::kServers ||
                        method.kind == MethodKind::kHybrid;
    const bool there = !method.beside || method.kind == MethodKind::kServers;
    if (serves != (method.spare > 0) || !there) continue;
    if (method.bf16 && method.by_keys())
      return error(Code::kInvalidArgument,
                   "\"{}\": servers give values back in f32; leave \", bf16\" "
                   "out",
                   name);
    if (method.factors && method.by_keys())
      return error(Code::kInvalidArgument,
                   "\"{}\": servers get whole gradients; leave \", factors\" "
                   "out",
                   name);
    return method;
  }
  return wrong();
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

double spare_share(const Method& method, const Network& network, double bytes) {
  const double n = network.workers;
  const double k = std::min<double>(method.spare, n);
  if (k == 0) return 0;
  if (method.kind == MethodKind::kServers) return 1;
  // Through the busiest link of the ring and of the hybrid.
  const double ring = 2 * (n - 1) / n;
  const double hybrid = 2 * n * (n - 1) / (n * n + k * n - 2 * k);
  const bool pays = (ring - hybrid) * bytes >= n * network.hybrid_part;
  return pays ? hybrid * k / n : 0;
}

double spare_part(const Method& method, const Network& network) {
  return method.kind == MethodKind::kHybrid ? network.hybrid_part
                                            : network.part;
}

}  // namespace rondo
