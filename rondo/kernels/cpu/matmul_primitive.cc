#include "rondo/kernels/cpu/matmul_primitive.h"

#include "rondo/kernels/cpu/conv_primitive.h"

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

}  // namespace rondo
