// ExchangePlan: how gradients come to all ranks and in which order, as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rondo/train/buckets.h"
#include "rondo/train/factors.h"

namespace rondo {

struct GradientExchange {
  std::string group;
  int size = 1;  // ranks of the group
  BucketOptions buckets = {};
  DType wire = DType::kF32;  // in which f32 travels: f32 or bf16
  FactorOptions factors = {};
  // Of each bucket, what goes through servers that reduce: the strategy hybrid.
  ServerShare server_share = {};
  // For a plan that knows more than the program will: the factors of each
  // gradient are chosen as if they had so many rows at least. Empty: of none.
  std::vector<int64_t> least_rows = {};
};

// How one gradient travels, and what that costs.
struct Travel {
  std::string variable;
  std::string_view how;  // "bucket", "rows" or "factors"
  // What a rank sends of it in a step; of each of its rows, where only a step
  // knows how many there are.
  double bytes = 0;
  bool per_row = false;
  double to_servers = 0;  // of these bytes
};

struct ExchangePlan {
  // One exchange: of a bucket, which may be a sparse gradient's rows, or of a
  // factor.
  struct Item {
    std::vector<size_t> bucket;  // numbers of gradients
    Value factor;
  };
  // In the order in which they are there, which is the same on every rank: a
  // factor that comes from the forward pass before all gradients.
  std::vector<Item> items;
  // By the number of the gradient: those that travel so. A value that several
  // gradients have for a factor is one item.
  std::vector<std::optional<Factors>> factors;
  // The first that the backward pass has for an exchange, which factors of the
  // forward pass wait for: until then the data may come to an end, and a step
  // that nothing has left yet ends on its own.
  Node* begin = nullptr;
  std::vector<Travel> travels;  // of those gradients that are not empty
};

RONDO_API ExchangePlan
plan_exchange(const std::vector<GradientAndVariable>& gradients,
              const GradientExchange& exchange);

// As what elements of this type travel.
RONDO_API DType wire_of(DType dtype, const GradientExchange& exchange);

// A line for each gradient: "dense1/w: factors, 11206656 bytes", or where there
// are servers "dense1/b: bucket, 4096 bytes, 1536 of them to servers".
RONDO_API std::string to_text(const std::vector<Travel>& travels);

}  // namespace rondo
