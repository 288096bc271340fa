// Packed tensors: what collectives need, made of what programs have.
//
// A tensor that is contiguous is used where it lies. Any other is copied into
// mapped memory before the operation and, if it is a result, back afterwards.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace rondo::torch {

// The tensor itself if it is contiguous, else a contiguous copy.
at::Tensor packed(const at::Tensor& tensor);
// The same for what is only written: a copy has no elements yet.
at::Tensor packed_for_output(const at::Tensor& tensor);
// Copies what packed() returned for `tensor` back, unless it is the tensor.
void unpack(const at::Tensor& from, const at::Tensor& tensor);

// One contiguous vector for the elements of a list of tensors of one dtype:
// the tensors' own memory where they lie one behind the other.
class Flat {
 public:
  // `filled`: with their elements; else for output.
  Flat(const std::vector<at::Tensor>& tensors, bool filled);
  const at::Tensor& vector() const { return vector_; }
  // Copies the elements to the tensors.
  void spread() const;
  // Elements of each tensor.
  std::vector<int64_t> counts() const;
  bool even() const;

 private:
  const std::vector<at::Tensor> tensors_;
  at::Tensor vector_;
  bool own_ = false;  // memory
};

}  // namespace rondo::torch
