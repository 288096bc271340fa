#include "rondo/plan/error_band.h"

namespace rondo {
namespace {

// bench/plan_cells.json has what was measured in labs. For each of its cells
// the command's own prediction, for Ethernet and not for the lab, was taken,
// and for each kind of method the least band that 95 % of its cells are in,
// rounded up to a percent, and not less than 5 %. tests/plan_band_test.py finds
// them again, and says where one has become too narrow.
constexpr ErrorBand kStar{0.08, 0.08};
constexpr ErrorBand kButterfly{0.05, 0.06};
constexpr ErrorBand kRing{0.06, 0.06};
constexpr ErrorBand kFactors{0.10, 0.08};
constexpr ErrorBand kHierarchical{0.05, 0.06};
constexpr ErrorBand kServers{0.10, 0.10};
constexpr ErrorBand kHybrid{0.16, 0.09};

}  // namespace

std::optional<ErrorBand> error_band(const Method& method,
                                    const Network& network) {
  if (network.hosts == 1 || method.bf16 || method.beside) return std::nullopt;
  switch (method.kind) {
    case MethodKind::kStar: return kStar;
    case MethodKind::kButterfly: return kButterfly;
    case MethodKind::kRing: return method.factors ? kFactors : kRing;
    case MethodKind::kHierarchical: return kHierarchical;
    case MethodKind::kServers: return kServers;
    case MethodKind::kHybrid: return kHybrid;
    case MethodKind::kNaive:
    case MethodKind::kTree:
    case MethodKind::kDirect: break;
  }
  return std::nullopt;
}

}  // namespace rondo
