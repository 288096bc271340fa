#include "rondo/torch/packed.h"

#include <algorithm>

#include "rondo/torch/mapped.h"

namespace rondo::torch {
namespace {

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

bool one_behind_the_other(const std::vector<at::Tensor>& tensors) {
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!is_plain(tensor) || !tensor.is_alias_of(tensors[0])) return false;
    const auto* here = static_cast<const char*>(tensor.const_data_ptr());
    if (next != nullptr && here != next) return false;
    next = here + tensor.nbytes();
  }
  return !tensors.empty();
}

}  // namespace

at::Tensor packed(const at::Tensor& tensor) {
  if (is_plain(tensor)) return tensor;
  at::Tensor copy = packed_for_output(tensor);
  copy.copy_(tensor);
  return copy;
}

at::Tensor packed_for_output(const at::Tensor& tensor) {
  return is_plain(tensor) ? tensor
                          : mapped_empty(tensor.sizes(), tensor.scalar_type());
}

void unpack(const at::Tensor& from, const at::Tensor& tensor) {
  if (!from.is_same(tensor)) tensor.copy_(from);
}

Flat::Flat(const std::vector<at::Tensor>& tensors, bool filled)
    : tensors_(tensors) {
  int64_t total = 0;
  for (const at::Tensor& tensor : tensors_) total += tensor.numel();
  if (one_behind_the_other(tensors_)) {
    vector_ = tensors_[0].as_strided({total}, {1});
    return;
  }
  own_ = true;
  vector_ = mapped_empty(
      {total}, tensors_.empty() ? at::kByte : tensors_[0].scalar_type());
  if (!filled) return;
  int64_t at = 0;
  for (const at::Tensor& tensor : tensors_) {
    vector_.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    at += tensor.numel();
  }
}

void Flat::spread() const {
  if (!own_) return;
  int64_t at = 0;
  for (const at::Tensor& tensor : tensors_) {
    tensor.copy_(vector_.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

std::vector<int64_t> Flat::counts() const {
  std::vector<int64_t> counts;
  for (const at::Tensor& tensor : tensors_) counts.push_back(tensor.numel());
  return counts;
}

bool Flat::even() const {
  return std::all_of(tensors_.begin(), tensors_.end(), [&](const auto& t) {
    return t.numel() == tensors_[0].numel();
  });
}

}  // namespace rondo::torch
