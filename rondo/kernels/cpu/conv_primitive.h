// ConvPrimitive: a convolution of oneDNN's for one shape.
// PrimitivePlan: the same with what brings tensors into its formats and back,
// where they are not blocked already.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "rondo/kernels/cpu/conv_plan.h"
#include "rondo/kernels/cpu/conv_shape.h"
#include "rondo/kernels/cpu/epilogue.h"
#include "rondo/kernels/cpu/primitive_calls.h"

namespace rondo {

// Where each tensor's elements are. `format_tag::any` in a descriptor lets
// oneDNN choose.
struct ConvFormats {
  dnnl::memory::desc x;
  dnnl::memory::desc filter;
  dnnl::memory::desc y;

  // The formats of the operation's own tensors: NHWC or NCHW, and HWIO.
  static ConvFormats plain(const ConvShape& shape,
                           dnnl::memory::data_type type);
};
// Channels in blocks of 16.
dnnl::memory::desc blocked_format(const dnnl::memory::desc& desc);
dnnl::memory::desc any_format(const dnnl::memory::desc& desc);

// Fixed once made; several threads may execute it at once, each with a
// scratchpad of its own. Throws dnnl::error where oneDNN has none.
class ConvPrimitive {
 public:
  ConvPrimitive(
      ConvDirection direction, const ConvShape& shape,
      const ConvFormats& formats, const Epilogue& epilogue,
      dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct);

  // The formats that execute() takes, with every choice made.
  const ConvFormats& formats() const { return formats_; }
  const dnnl::memory::desc& scratchpad() const { return scratchpad_; }
  // What oneDNN calls it: "brgconv:avx512_core".
  const std::string& implementation() const { return implementation_; }
  // Whether it is one of the plain loops that serve where nothing else does.
  bool slow() const;

  // Writes the tensor that the direction is about from the other two. `bias`
  // has an element for each channel out where the epilogue has one.
  void execute(void* x, void* filter, void* y, void* scratchpad,
               void* bias) const;

 private:
  template <class PrimitiveDesc>
  void take(const PrimitiveDesc& pd);
  std::vector<PrimitiveCalls::Arg> args(ConvDirection direction) const;

  ConvFormats formats_;
  dnnl::memory::desc scratchpad_;
  dnnl::memory::desc bias_;
  std::string implementation_;
  PrimitiveCalls calls_;
};

// Throws dnnl::error where oneDNN has nothing for the type.
class PrimitivePlan final : public ConvPlan {
 public:
  // `winograd`: by Winograd's minimal filtering where that is faster. Only a
  // forward convolution has an epilogue.
  PrimitivePlan(ConvDirection direction, const ConvShape& shape,
                dnnl::memory::data_type type, bool winograd,
                const Epilogue& epilogue, Blocked blocked);

  void execute(void* x, void* filter, void* y, void* workspace,
               void* bias) const override;

 private:
  // A tensor as it comes and as the primitive has it; `reorder` between them
  // and a place in the workspace where the two differ.
  struct Side {
    PrimitiveCalls reorder;
    bool differs = false;
    int64_t offset = 0;
  };
  Side side(const dnnl::memory::desc& outside, const dnnl::memory::desc& inside,
            bool out);
  int64_t reserve_for(const dnnl::memory::desc& desc);

  const ConvDirection direction_;
  ConvPrimitive primitive_;
  Side x_;
  Side filter_;
  Side y_;
  int64_t scratchpad_offset_ = 0;
};

}  // namespace rondo
