// Factors: a gradient that is a product of two thin matrices, and whether it
// pays to send these instead.
//
// The gradient of a fully connected layer is the product of x, transposed, and
// dy, which have a row for each row of the batch. The sum over all ranks is the
// product of the rows of all ranks: no number is lost or rounded by sending the
// factors, and where the batch is small they are far fewer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rondo/base/env.h"
#include "rondo/graph/graph.h"
#include "rondo/train/server_share.h"

namespace rondo {

// Bytes a second that a rank sends, where nobody says: over 10 Gbit/s, and to
// ranks of the same host.
inline constexpr double kNetworkRate = 1.25e9;
inline constexpr double kMemoryRate = 1e10;

enum class FactorUse {
  kAuto,  // where the cost model finds them cheaper
  kOn,    // wherever a gradient has factors
  kOff
};

// "auto", "on" or "off".
RONDO_API Result<FactorUse> parse_factor_use(std::string_view text);

inline constexpr double kFlopRate = 1e11;

struct FactorOptions {
  FactorUse use = FactorUse::kAuto;
  // How many rows a factor has on a rank where the graph does not know: the
  // batch, or where layers see several rows of an example as many times that,
  // the most of any. 0: what RONDO_FACTOR_ROWS says; else unknown, and then the
  // model finds nothing cheaper.
  int64_t rows = 0;
  // What the model reckons with: bytes a second that a rank sends, and
  // floating-point operations a second that it computes. 0: what a strategy of
  // a job is told by RONDO_LINK and RONDO_FLOPS, or else kNetworkRate, or
  // kMemoryRate where all ranks are on one host, and kFlopRate.
  double link_rate = 0;
  double flop_rate = 0;
  bool operator==(const FactorOptions&) const = default;
};

// What the options leave open becomes what the variables of a job say, if they
// do: `use`, where it is kAuto, that of RONDO_FACTORS, the rates those of
// RONDO_LINK and RONDO_FLOPS, such as 1gbit and 50G, and the rows those of
// RONDO_FACTOR_ROWS.
RONDO_API Status read_factor_options(const Env& env, FactorOptions& options);

// A gradient as leftᵀ·right. Both have as many rows on every rank.
struct Factors {
  Value left;
  Value right;
  // From the product to the gradient: nodes that only hand it on, reshape it
  // or give it another precision.
  std::vector<Node*> way = {};
};

// Nothing where the gradient is anything else.
RONDO_API std::optional<Factors> factors_of(Value gradient);

// The gradient again, of other factors.
RONDO_API Value product_of(const Factors& factors);

// How many rows a factor has on a rank; kAny where nobody knows.
RONDO_API int64_t rows_of(const Factors& factors, const FactorOptions& options);

// Bytes of an element that travels: of factors in bf16 those of their gradient,
// which is f32, are more.
struct ElementSizes {
  size_t gradient = 4;
  size_t factor = 4;
};

// Whether it takes less time to send factors and to multiply those of all ranks
// than to reduce the product, of which a share may go through servers. They are
// taken to have `least_rows`, even if they are known to have fewer.
RONDO_API bool factors_pay(const Factors& factors, const ElementSizes& wire,
                           int ranks, const FactorOptions& options,
                           const ServerShare& server_share = {},
                           int64_t least_rows = 0);

}  // namespace rondo
