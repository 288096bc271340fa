#include "rondo/torch/gradient_bucket.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <map>
#include <utility>

#include "rondo/torch/mapped.h"

namespace rondo::torch {

std::vector<std::vector<size_t>> plan_buckets(
    const std::vector<at::Tensor>& parameters, int64_t first_bytes,
    int64_t bytes) {
  struct Open {
    std::vector<size_t> members;
    int64_t bytes = 0;
  };
  std::vector<std::vector<size_t>> buckets;
  std::map<at::ScalarType, Open> open;
  const auto close = [&](Open& bucket) {
    if (!bucket.members.empty()) buckets.push_back(std::move(bucket.members));
    bucket = {};
  };
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto more = static_cast<int64_t>(parameters[i].nbytes());
    Open& bucket = open[parameters[i].scalar_type()];
    if (bucket.bytes + more > (buckets.empty() ? first_bytes : bytes))
      close(bucket);
    bucket.members.push_back(i);
    bucket.bytes += more;
  }
  for (auto& [dtype, bucket] : open) close(bucket);
  return buckets;
}

GradientBucket::GradientBucket(std::vector<size_t> numbers,
                               const std::vector<at::Tensor>& parameters)
    : members(std::move(numbers)), missing(members.size()) {
  int64_t total = 0;
  for (const size_t i : members) total += parameters[i].numel();
  vector = mapped_empty({total}, parameters[members[0]].scalar_type());
  const at::AutoDispatchBelowADInplaceOrView guard;
  int64_t at = 0;
  for (const size_t i : members) {
    const at::Tensor& p = parameters[i];
    views.push_back(p.is_non_overlapping_and_dense()
                        ? vector.as_strided(p.sizes(), p.strides(), at)
                        : vector.narrow(0, at, p.numel()).view(p.sizes()));
    at += p.numel();
  }
}

}  // namespace rondo::torch
