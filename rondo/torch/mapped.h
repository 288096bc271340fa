// Tensors in Rondo's heap, which ranks on one host map: collectives use them
// where they lie. DDP's buckets are such tensors; all other memory of PyTorch's
// is foreign.
#pragma once

#include <ATen/ATen.h>

#include <memory>

namespace rondo::torch {

// Unspecified contents; contiguous, on the CPU.
at::Tensor mapped_empty(at::IntArrayRef sizes, at::ScalarType dtype);
// Whether all of the tensor's elements lie there.
bool is_mapped(const at::Tensor& tensor);
// Whether peers can map the heap at all.
bool can_map();
std::shared_ptr<c10::Allocator> mapped_allocator();

}  // namespace rondo::torch
