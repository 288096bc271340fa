#include "rondo/kernels/cpu/conv_primitive.h"

namespace rondo {
namespace {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

memory::desc image_desc(const ConvShape& s, int64_t channels, int64_t height,
                        int64_t width, memory::data_type type) {
  return {{s.batch, channels, height, width},
          type,
          s.channels_last ? Tag::nhwc : Tag::nchw};
}

// HWIO in oneDNN's order of dimensions, which is (groups,) O, I, H, W.
memory::desc filter_desc(const ConvShape& s, memory::data_type type) {
  const int64_t kh = s.height.size;
  const int64_t kw = s.width.size;
  const int64_t in = s.group_in();
  const int64_t out = s.out_channels;
  if (s.groups == 1) return {{out, in, kh, kw}, type, Tag::hwio};
  return {{s.groups, s.group_out(), in, kh, kw},
          type,
          memory::dims{s.group_out(), 1, out, kw * in * out, in * out}};
}

// Whether Winograd's F(4x4, 3x3), with 2.25 multiplications instead of 9 for
// each element of the result, is faster though images must be brought into the
// blocked format for it. What it computes is cut into tiles of 4x4, so that
// small images waste much of it.
bool suits_winograd(ConvDirection direction, const ConvShape& s,
                    memory::data_type type) {
  const int64_t least = direction == ConvDirection::kBackwardFilter ? 6 : 10;
  const auto suits = [=](const WindowAxis& a) {
    return a.size == 3 && a.stride == 1 && a.dilation == 1 && a.before <= 1 &&
           a.after <= 1 && a.out >= least;
  };
  return type == memory::data_type::f32 && s.groups == 1 && suits(s.height) &&
         suits(s.width) && s.in_channels % 16 == 0 &&
         s.out_channels % 16 == 0 && s.in_channels >= 32 &&
         s.out_channels >= 32;
}

// Whether both images can be blocked.
bool has_whole_blocks(const ConvShape& s) {
  return s.groups == 1 && s.in_channels % 16 == 0 && s.out_channels % 16 == 0;
}

ConvPrimitive choose(ConvDirection direction, const ConvShape& shape,
                     memory::data_type type, bool winograd,
                     const Epilogue& epilogue, bool blocked) {
  const ConvFormats plain = ConvFormats::plain(shape, type);
  const ConvFormats any = {any_format(plain.x), any_format(plain.filter),
                           any_format(plain.y)};
  if (winograd && suits_winograd(direction, shape, type)) {
    try {
      return {direction, shape, any, epilogue,
              dnnl::algorithm::convolution_winograd};
    } catch (const dnnl::error& e) {
      if (e.status != dnnl_unimplemented) throw;
    }
  }
  if (blocked && type == memory::data_type::f32 && has_whole_blocks(shape)) {
    ConvPrimitive in_blocks(
        direction, shape,
        {blocked_format(plain.x), any.filter, blocked_format(plain.y)},
        epilogue);
    if (!in_blocks.slow()) return in_blocks;
  }
  // For NCHW there is little vector code; for NHWC there is, except for odd
  // shapes.
  if (!shape.channels_last) return {direction, shape, any, epilogue};
  ConvPrimitive in_place(direction, shape, {plain.x, any.filter, plain.y},
                         epilogue);
  if (!in_place.slow()) return in_place;
  return {direction, shape, any, epilogue};
}

}  // namespace

ConvFormats ConvFormats::plain(const ConvShape& s, memory::data_type type) {
  return {image_desc(s, s.in_channels, s.height.in, s.width.in, type),
          filter_desc(s, type),
          image_desc(s, s.out_channels, s.height.out, s.width.out, type)};
}

memory::desc blocked_format(const memory::desc& desc) {
  return {desc.dims(), desc.data_type(), Tag::nChw16c};
}

memory::desc any_format(const memory::desc& desc) {
  return {desc.dims(), desc.data_type(), Tag::any};
}

template <class PrimitiveDesc>
void ConvPrimitive::take(const PrimitiveDesc& pd) {
  scratchpad_ = pd.scratchpad_desc();
  implementation_ = pd.impl_info_str();
}

ConvPrimitive::ConvPrimitive(ConvDirection direction, const ConvShape& s,
                             const ConvFormats& formats,
                             const Epilogue& epilogue,
                             dnnl::algorithm algorithm) {
  const memory::dims strides = {s.height.stride, s.width.stride};
  // oneDNN counts the elements between those of the window.
  const memory::dims dilations = {s.height.dilation - 1, s.width.dilation - 1};
  const memory::dims before = {s.height.before, s.width.before};
  const memory::dims after = {s.height.after, s.width.after};
  const dnnl::primitive_attr attr = epilogue.attr();
  if (epilogue.bias)
    bias_ = memory::desc({s.out_channels}, formats.y.data_type(), Tag::a);
  const dnnl::engine& engine = cpu_engine();

  const dnnl::convolution_forward::desc forward(
      dnnl::prop_kind::forward_training, algorithm, formats.x, formats.filter,
      bias_, formats.y, strides, dilations, before, after);
  const dnnl::convolution_forward::primitive_desc forward_pd(forward, attr,
                                                             engine);
  switch (direction) {
    case ConvDirection::kForward: {
      formats_ = {forward_pd.src_desc(), forward_pd.weights_desc(),
                  forward_pd.dst_desc()};
      take(forward_pd);
      calls_ = PrimitiveCalls(dnnl::convolution_forward(forward_pd),
                              args(direction));
      break;
    }
    case ConvDirection::kBackwardInput: {
      const dnnl::convolution_backward_data::primitive_desc pd(
          {algorithm, formats.x, formats.filter, formats.y, strides, dilations,
           before, after},
          attr, engine, forward_pd);
      formats_ = {pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc()};
      take(pd);
      calls_ =
          PrimitiveCalls(dnnl::convolution_backward_data(pd), args(direction));
      break;
    }
    case ConvDirection::kBackwardFilter: {
      const dnnl::convolution_backward_weights::primitive_desc pd(
          {algorithm, formats.x, formats.filter, formats.y, strides, dilations,
           before, after},
          attr, engine, forward_pd);
      formats_ = {pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc()};
      take(pd);
      calls_ = PrimitiveCalls(dnnl::convolution_backward_weights(pd),
                              args(direction));
      break;
    }
  }
}

bool ConvPrimitive::slow() const {
  return implementation_.find("ref") != std::string::npos ||
         implementation_.find("gemm:") != std::string::npos;
}

// As execute() passes them.
std::vector<PrimitiveCalls::Arg> ConvPrimitive::args(
    ConvDirection direction) const {
  const bool to_x = direction == ConvDirection::kBackwardInput;
  const bool to_filter = direction == ConvDirection::kBackwardFilter;
  const bool to_y = direction == ConvDirection::kForward;
  std::vector<PrimitiveCalls::Arg> args = {
      {to_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, formats_.x},
      {to_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, formats_.filter},
      {to_y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, formats_.y},
      {DNNL_ARG_SCRATCHPAD, scratchpad_}};
  if (!bias_.is_zero()) args.push_back({DNNL_ARG_BIAS, bias_});
  return args;
}

void ConvPrimitive::execute(void* x, void* filter, void* y, void* scratchpad,
                            void* bias) const {
  void* const data[] = {x, filter, y, scratchpad, bias};
  calls_.execute(data);
}

PrimitivePlan::PrimitivePlan(ConvDirection direction, const ConvShape& shape,
                             memory::data_type type, bool winograd,
                             const Epilogue& epilogue, Blocked blocked)
    : direction_(direction),
      primitive_(choose(direction, shape, type, winograd, epilogue,
                        blocked.x || blocked.y)) {
  ConvFormats outside = ConvFormats::plain(shape, type);
  const ConvFormats& inside = primitive_.formats();
  if (blocked.x) outside.x = blocked_format(outside.x);
  if (blocked.y) outside.y = blocked_format(outside.y);
  if (direction != ConvDirection::kBackwardFilter && blocked.result) {
    const bool to_x = direction == ConvDirection::kBackwardInput;
    memory::desc& made = to_x ? outside.x : outside.y;
    gives_blocked_ = made.dims()[1] % 16 == 0 &&
                     (to_x ? inside.x : inside.y) == blocked_format(made);
    if (gives_blocked_) made = blocked_format(made);
  }
  x_ = side(outside.x, inside.x, direction == ConvDirection::kBackwardInput);
  filter_ = side(outside.filter, inside.filter,
                 direction == ConvDirection::kBackwardFilter);
  y_ = side(outside.y, inside.y, direction == ConvDirection::kForward);
  scratchpad_offset_ = reserve_for(primitive_.scratchpad());
}

int64_t PrimitivePlan::reserve_for(const memory::desc& desc) {
  return reserve(static_cast<int64_t>(desc.get_size()));
}

PrimitivePlan::Side PrimitivePlan::side(const memory::desc& outside,
                                        const memory::desc& inside, bool out) {
  Side side;
  side.differs = outside != inside;
  if (!side.differs) return side;
  side.offset = reserve_for(inside);
  const dnnl::engine& engine = cpu_engine();
  const memory::desc& from = out ? inside : outside;
  const memory::desc& to = out ? outside : inside;
  side.reorder = PrimitiveCalls(
      dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to)),
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  return side;
}

void PrimitivePlan::execute(void* x, void* filter, void* y, void* workspace,
                            void* bias) const {
  const auto place = [&](int64_t offset) -> void* {
    return static_cast<char*>(workspace) + offset;
  };
  const auto inside = [&](const Side& s, void* data) {
    return s.differs ? place(s.offset) : data;
  };
  const auto bring_in = [&](const Side& s, ConvDirection out, void* data) {
    void* const from_to[] = {data, inside(s, data)};
    if (s.differs && direction_ != out) s.reorder.execute(from_to);
  };
  bring_in(x_, ConvDirection::kBackwardInput, x);
  bring_in(filter_, ConvDirection::kBackwardFilter, filter);
  bring_in(y_, ConvDirection::kForward, y);
  primitive_.execute(inside(x_, x), inside(filter_, filter), inside(y_, y),
                     place(scratchpad_offset_), bias);
  const auto bring_out = [&](const Side& s, ConvDirection out, void* data) {
    void* const from_to[] = {inside(s, data), data};
    if (s.differs && direction_ == out) s.reorder.execute(from_to);
  };
  bring_out(x_, ConvDirection::kBackwardInput, x);
  bring_out(filter_, ConvDirection::kBackwardFilter, filter);
  bring_out(y_, ConvDirection::kForward, y);
}

}  // namespace rondo
