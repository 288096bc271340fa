#include "rondo/train/hybrid_split.h"

#include <algorithm>
#include <cstring>

#include "rondo/ps/slice.h"

namespace rondo {
namespace {

// Calls `each(tensor, first element, copy's first byte)` for what of each
// tensor is among the last `served` elements.
template <class Each>
void for_served(std::span<Tensor> tensors, int64_t served, Each each) {
  int64_t before = -served;
  for (const Tensor& tensor : tensors) before += tensor.count();
  int64_t at = 0;  // elements of the copy so far
  for (Tensor& tensor : tensors) {
    const int64_t first = std::clamp<int64_t>(before, 0, tensor.count());
    if (first < tensor.count()) each(tensor, first, at);
    at += tensor.count() - first;
    before -= tensor.count();
  }
}

char* element(Tensor& tensor, int64_t index) {
  return static_cast<char*>(tensor.data()) +
         static_cast<size_t>(index) * size_of(tensor.dtype());
}

}  // namespace

double server_share(int ranks, int servers) {
  if (ranks < 2 || servers < 1) return 0;
  if (servers >= ranks) return 1;
  const double n = ranks;
  const double k = servers;
  return 2 * k * (n - 1) / (n * n + k * n - 2 * k);
}

double sent_share(int ranks, double server_share) {
  return server_share + (1 - server_share) * 2 * (ranks - 1) / ranks;
}

int64_t served_elements(int64_t count, DType dtype, double server_share) {
  constexpr int64_t kLine = 64;
  const int64_t line = kLine / static_cast<int64_t>(size_of(dtype));
  const auto left =
      static_cast<int64_t>((1 - server_share) * static_cast<double>(count));
  // Up to a whole line.
  const int64_t kept = (std::max<int64_t>(left, 1) + line - 1) / line * line;
  return std::max<int64_t>(count - kept, 0);
}

HybridSplit split_bucket(std::span<Tensor> tensors, int64_t served) {
  HybridSplit split;
  size_t pieces = 0;
  for_served(tensors, served, [&](Tensor&, int64_t, int64_t) { ++pieces; });
  split.copied = pieces > 1;
  if (split.copied) split.servers = Tensor::empty({served}, tensors[0].dtype());
  for (Tensor& tensor : tensors) split.ranks.emplace_back(tensor);
  size_t piece = tensors.size() - pieces;
  for_served(tensors, served, [&](Tensor& tensor, int64_t first, int64_t at) {
    const auto bytes =
        static_cast<size_t>(tensor.count() - first) * size_of(tensor.dtype());
    if (split.copied)
      std::memcpy(element(split.servers, at), element(tensor, first), bytes);
    else
      split.servers =
          slice(tensor, tensor.bytes() - bytes, tensor.dtype(), {served});
    split.ranks[piece++].count = first;
  });
  std::erase_if(split.ranks, [](const View& view) { return view.count == 0; });
  return split;
}

void put_back(const HybridSplit& split, std::span<Tensor> tensors) {
  if (!split.copied) return;
  Tensor all = split.servers;
  for_served(tensors, all.count(),
             [&](Tensor& tensor, int64_t first, int64_t at) {
               const auto bytes = static_cast<size_t>(tensor.count() - first) *
                                  size_of(tensor.dtype());
               std::memcpy(element(tensor, first), element(all, at), bytes);
             });
}

}  // namespace rondo
