#include "rondo/train/hybrid_split.h"

#include <algorithm>
#include <cstring>

#include "rondo/ps/slice.h"

namespace rondo {
namespace {

// What of a tensor is among the last elements of a bucket.
struct Piece {
  Tensor* tensor = nullptr;
  int64_t first = 0;  // element of the tensor
  int64_t at = 0;     // element of the copy
  size_t bytes() const {
    return static_cast<size_t>(tensor->count() - first) *
           size_of(tensor->dtype());
  }
};

// One for each tensor; of some, nothing.
std::vector<Piece> pieces_of(std::span<Tensor> tensors, int64_t served) {
  int64_t before = -served;
  for (const Tensor& tensor : tensors) before += tensor.count();
  std::vector<Piece> pieces;
  int64_t at = 0;
  for (Tensor& tensor : tensors) {
    const int64_t first = std::clamp<int64_t>(before, 0, tensor.count());
    pieces.push_back({&tensor, first, at});
    at += tensor.count() - first;
    before -= tensor.count();
  }
  return pieces;
}

char* element(Tensor& tensor, int64_t index) {
  return static_cast<char*>(tensor.data()) +
         static_cast<size_t>(index) * size_of(tensor.dtype());
}

}  // namespace

HybridSplit split_bucket(std::span<Tensor> tensors, int64_t served) {
  HybridSplit split;
  const std::vector<Piece> pieces = pieces_of(tensors, served);
  split.copied = std::ranges::count_if(pieces, [](const Piece& piece) {
                   return piece.bytes() > 0;
                 }) > 1;
  if (split.copied) split.servers = Tensor::empty({served}, tensors[0].dtype());
  for (const Piece& piece : pieces) {
    const Tensor& whole = *piece.tensor;
    if (piece.first > 0)
      split.ranks.emplace_back(piece.tensor->data(), piece.first,
                               whole.dtype());
    if (piece.bytes() == 0) continue;
    if (split.copied)
      std::memcpy(element(split.servers, piece.at),
                  element(*piece.tensor, piece.first), piece.bytes());
    else
      split.servers =
          slice(whole, whole.bytes() - piece.bytes(), whole.dtype(), {served});
  }
  return split;
}

void put_back(const HybridSplit& split, std::span<Tensor> tensors) {
  if (!split.copied) return;
  Tensor copy = split.servers;  // the same memory
  for (const Piece& piece : pieces_of(tensors, split.servers.count()))
    if (piece.bytes() > 0)
      std::memcpy(element(*piece.tensor, piece.first), element(copy, piece.at),
                  piece.bytes());
}

}  // namespace rondo
