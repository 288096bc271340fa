#include "rondo/train/exchange_names.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr std::string_view kExchanges[] = {"AllReduce",     "AllGather",
                                           "AllGatherRows", "Broadcast",
                                           "PushPull",      "PushPullRows"};

}  // namespace

bool is_exchange(std::string_view op) {
  return std::ranges::find(kExchanges, op) != std::end(kExchanges);
}

}  // namespace rondo
