// MatMulPrimitive: a product of matrices of oneDNN's for one shape.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "rondo/kernels/cpu/epilogue.h"
#include "rondo/kernels/cpu/gemm.h"
#include "rondo/kernels/cpu/primitive_calls.h"
#include "rondo/kernels/kernel.h"

namespace rondo {

// Fixed once made; several threads may execute it at once, each with memory of
// its own.
class MatMulPrimitive {
 public:
  // nullopt where oneDNN has none for the type on this machine.
  static std::optional<MatMulPrimitive> make(const GemmShape& shape,
                                             dnnl::memory::data_type type,
                                             const Epilogue& epilogue = {});

  size_t workspace_bytes() const { return workspace_bytes_; }
  // c[m, n]; `bias` is not looked at when there is none.
  void execute(const void* a, const void* b, const void* bias, void* c,
               void* workspace) const;

 private:
  MatMulPrimitive() = default;

  size_t workspace_bytes_ = 0;
  PrimitiveCalls calls_;
};

// The primitives that one node has needed so far. Any thread.
class MatMulPrimitives {
 public:
  explicit MatMulPrimitives(Epilogue epilogue = {}) : epilogue_(epilogue) {}
  // y = a b (+ bias) of f32, with the context's scratch memory.
  Status run(KernelContext& context, const GemmShape& shape, const void* a,
             const void* b, const void* bias, void* y);

 private:
  // For as many threads as the caller has.
  std::shared_ptr<const MatMulPrimitive> find(const GemmShape& shape);

  struct Entry {
    GemmShape shape;
    int threads = 0;
    std::shared_ptr<const MatMulPrimitive> primitive;
  };
  // A program has few shapes: a full batch and a last one, for training and for
  // evaluation.
  static constexpr size_t kKept = 16;

  const Epilogue epilogue_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the newest first; guarded by mutex_
};

}  // namespace rondo
