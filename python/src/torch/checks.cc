#include "checks.h"

#include <ATen/MemoryOverlap.h>
#include <c10/util/Exception.h>

#include "operators.h"

namespace rondo::torch {

void check_writable(const char* operation, const at::Tensor& output) {
  TORCH_CHECK_VALUE(
      output.layout() != at::kStrided ||
          at::has_internal_overlap(output) != at::MemOverlap::Yes,
      "rondo: ", operation,
      ": elements of an output share memory, as those of expand() do; give it "
      "memory of its own with .clone()");
}

void check_list(const char* operation, const std::vector<at::Tensor>& tensors,
                int ranks, at::ScalarType dtype) {
  TORCH_CHECK_VALUE(static_cast<int>(tensors.size()) == ranks,
                    "rondo: ", operation, ": the list has ", tensors.size(),
                    " tensors, and the group ", ranks, " ranks");
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_dense(operation, tensors[i]);
    TORCH_CHECK_VALUE(tensors[i].scalar_type() == dtype, "rondo: ", operation,
                      ": tensor ", i, " of the list is ",
                      c10::toString(tensors[i].scalar_type()),
                      ", and the tensor of this rank ", c10::toString(dtype));
  }
}

void check_whole(const char* operation, const at::Tensor& whole,
                 const at::Tensor& part, int ranks) {
  check_dense(operation, whole);
  check_dense(operation, part);
  TORCH_CHECK_VALUE(whole.scalar_type() == part.scalar_type(),
                    "rondo: ", operation, ": input and output are ",
                    c10::toString(part.scalar_type()), " and ",
                    c10::toString(whole.scalar_type()));
  TORCH_CHECK_VALUE(whole.numel() == part.numel() * ranks, "rondo: ", operation,
                    ": a tensor of ", part.numel(), " elements for each of ",
                    ranks, " ranks needs ", part.numel() * ranks,
                    " elements, not ", whole.numel());
}

void check_numel(const char* operation, const at::Tensor& tensor,
                 int64_t expected) {
  TORCH_CHECK_VALUE(tensor.numel() == expected, "rondo: ", operation,
                    ": the tensor of this rank has ", tensor.numel(),
                    " elements, and its place in the list ", expected);
}

const std::vector<at::Tensor>& only_list(
    const char* operation, const std::vector<std::vector<at::Tensor>>& lists) {
  TORCH_CHECK_VALUE(lists.size() == 1, "rondo: ", operation,
                    " takes one list of tensors, not ", lists.size());
  return lists[0];
}

}  // namespace rondo::torch
