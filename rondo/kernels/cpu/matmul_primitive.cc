#include "rondo/kernels/cpu/matmul_primitive.h"

#include "rondo/kernels/cpu/conv_primitive.h"
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
  MatMulPrimitive made;
  made.a_ = describe(s.m, s.k, s.transpose_a);
  made.b_ = describe(s.k, s.n, s.transpose_b);
  made.c_ = describe(s.m, s.n, false);
  made.has_bias_ = epilogue.bias;
  if (epilogue.bias) made.bias_ = describe(1, s.n, false);
  const dnnl::matmul::desc desc =
      epilogue.bias ? dnnl::matmul::desc(made.a_, made.b_, made.bias_, made.c_)
                    : dnnl::matmul::desc(made.a_, made.b_, made.c_);
  const dnnl::matmul::primitive_desc pd(desc, epilogue.attr(), cpu_engine(),
                                        true);
  if (!pd) return std::nullopt;
  made.scratchpad_ = pd.scratchpad_desc();
  made.primitive_ = dnnl::matmul(pd);
  return made;
}

void MatMulPrimitive::execute(const void* a, const void* b, const void* bias,
                              void* c, void* workspace) const {
  const dnnl::engine& engine = cpu_engine();
  dnnl::stream stream(engine);
  const auto at = [&](const memory::desc& desc, const void* data) {
    return memory(desc, engine, const_cast<void*>(data));
  };
  std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, at(a_, a)},
      {DNNL_ARG_WEIGHTS, at(b_, b)},
      {DNNL_ARG_DST, at(c_, c)},
      {DNNL_ARG_SCRATCHPAD, at(scratchpad_, workspace)}};
  if (has_bias_) args.emplace(DNNL_ARG_BIAS, at(bias_, bias));
  primitive_.execute(stream, args);
  stream.wait();
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
