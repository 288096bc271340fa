// MatMulPrimitive: a product of matrices of oneDNN's for one shape.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "rondo/kernels/cpu/epilogue.h"
#include "rondo/kernels/cpu/gemm.h"

namespace rondo {

// Fixed once made; several threads may execute it at once, each with memory of
// its own.
class MatMulPrimitive {
 public:
  // nullopt where oneDNN has none for the type on this machine.
  static std::optional<MatMulPrimitive> make(const GemmShape& shape,
                                             dnnl::memory::data_type type,
                                             const Epilogue& epilogue = {});

  size_t workspace_bytes() const { return scratchpad_.get_size(); }
  // c[m, n]; `bias` is not looked at when there is none.
  void execute(const void* a, const void* b, const void* bias, void* c,
               void* workspace) const;

 private:
  MatMulPrimitive() = default;

  dnnl::memory::desc a_, b_, bias_, c_, scratchpad_;
  bool has_bias_ = false;
  dnnl::matmul primitive_;
};

}  // namespace rondo
