#include "rondo/kernels/cpu/matmul_primitive.h"

#include "rondo/kernels/cpu/parallel.h"

namespace rondo {

using dnnl::memory;

std::optional<MatMulPrimitive> MatMulPrimitive::make(const GemmShape& s,
                                                     memory::data_type type,
                                                     const Epilogue& epilogue) {
  const auto describe = [&](int64_t rows, int64_t columns, bool transposed) {
    return memory::desc(
        {rows, columns}, type,
        transposed ? memory::format_tag::ba : memory::format_tag::ab);
  };
  const memory::desc a = describe(s.m, s.k, s.transpose_a);
  const memory::desc b = describe(s.k, s.n, s.transpose_b);
  const memory::desc c = describe(s.m, s.n, false);
  const memory::desc bias = describe(1, s.n, false);
  const dnnl::matmul::desc desc = epilogue.bias
                                      ? dnnl::matmul::desc(a, b, bias, c)
                                      : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc pd(desc, epilogue.attr(), cpu_engine(),
                                        true);
  if (!pd) return std::nullopt;
  // As execute() passes them.
  std::vector<PrimitiveCalls::Arg> args = {
      {DNNL_ARG_SRC, a},
      {DNNL_ARG_WEIGHTS, b},
      {DNNL_ARG_DST, c},
      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
  if (epilogue.bias) args.push_back({DNNL_ARG_BIAS, bias});
  MatMulPrimitive made;
  made.workspace_bytes_ = pd.scratchpad_desc().get_size();
  made.calls_ = PrimitiveCalls(dnnl::matmul(pd), std::move(args));
  return made;
}

void MatMulPrimitive::execute(const void* a, const void* b, const void* bias,
                              void* c, void* workspace) const {
  void* const data[] = {const_cast<void*>(a), const_cast<void*>(b), c,
                        workspace, const_cast<void*>(bias)};
  calls_.execute(data);
}

Status MatMulPrimitives::run(KernelContext& c, const GemmShape& shape,
                             const void* a, const void* b, const void* bias,
                             void* y) {
  try {
    const auto primitive = find(shape);
    Tensor workspace = c.scratch(
        DType::kU8, {static_cast<int64_t>(primitive->workspace_bytes())});
    primitive->execute(a, b, bias, y, workspace.data());
  } catch (const dnnl::error& e) {
    return error(Code::kInternal, "oneDNN: {}", e.what());
  }
  return {};
}

std::shared_ptr<const MatMulPrimitive> MatMulPrimitives::find(
    const GemmShape& shape) {
  const int threads = intra_op_threads();
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.threads == threads && entry.shape == shape)
      return entry.primitive;
  auto made = MatMulPrimitive::make(shape, memory::data_type::f32, epilogue_);
  if (!made) throw Error(Code::kInternal, "oneDNN has no such product");
  auto primitive = std::make_shared<const MatMulPrimitive>(std::move(*made));
  entries_.insert(entries_.begin(), {shape, threads, primitive});
  if (entries_.size() > kKept) entries_.pop_back();
  return primitive;
}

}  // namespace rondo
