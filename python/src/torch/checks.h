// What the arguments of collectives must fulfil on this rank. Each throws a
// ValueError that says what is wrong; what differs between ranks is found by
// the collective itself.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace rondo::torch {

// Every element of an output has memory of its own (not of an expand()).
void check_writable(const char* operation, const at::Tensor& output);
// As many tensors as the group has ranks, all dense and of one dtype.
void check_list(const char* operation, const std::vector<at::Tensor>& tensors,
                int ranks, at::ScalarType dtype);
// `whole` has `ranks` times the elements of `part`, and its dtype.
void check_whole(const char* operation, const at::Tensor& whole,
                 const at::Tensor& part, int ranks);
void check_numel(const char* operation, const at::Tensor& tensor,
                 int64_t expected);
// The only one of the lists.
const std::vector<at::Tensor>& only_list(
    const char* operation, const std::vector<std::vector<at::Tensor>>& lists);

}  // namespace rondo::torch
