#include "rondo/kernels/layout.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "rondo/kernels/cpu/conv_primitive.h"

namespace rondo {
namespace {

using dnnl::memory;

// The channels' axis of a blocked layout.
int channel_axis(Layout layout) { return layout == Layout::kNhwc16 ? 3 : 1; }

memory::desc describe(const Tensor& tensor, Layout layout, Layout blocked) {
  const Shape& s = tensor.shape();
  const bool last = blocked == Layout::kNhwc16;
  const memory::dims dims = last ? memory::dims{s[0], s[3], s[1], s[2]}
                                 : memory::dims{s[0], s[1], s[2], s[3]};
  // Elements are moved, not looked at.
  const auto type = size_of(tensor.dtype()) == 1 ? memory::data_type::u8
                                                 : memory::data_type::f32;
  if (layout != Layout::kRowMajor)
    return {dims, type, memory::format_tag::nChw16c};
  return {dims, type,
          last ? memory::format_tag::nhwc : memory::format_tag::nchw};
}

}  // namespace

bool can_block(const Shape& shape, bool channels_last) {
  if (shape.rank() != 4 || shape.count() == 0) return false;
  return shape[channels_last ? 3 : 1] % 16 == 0;
}

Tensor in_layout(Allocator& allocator, const Tensor& tensor, Layout layout) {
  if (tensor.layout() == layout) return tensor;
  if (is_blocked(tensor) && layout != Layout::kRowMajor)
    return in_layout(allocator, in_layout(allocator, tensor, Layout::kRowMajor),
                     layout);
  const Layout blocked = is_blocked(tensor) ? tensor.layout() : layout;
  if (!can_block(tensor.shape(), channel_axis(blocked) == 3))
    throw Error(Code::kInternal,
                fmt::format("a tensor of shape {} has no blocked layout",
                            tensor.shape().to_string()));
  Tensor to = allocator.allocate(tensor.dtype(), tensor.shape());
  to.set_layout(layout);
  const dnnl::engine& engine = cpu_engine();
  dnnl::stream stream(engine);
  memory source(describe(tensor, tensor.layout(), blocked), engine,
                const_cast<void*>(tensor.data()));
  memory target(describe(to, layout, blocked), engine, to.data());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return to;
}

Layout accept_layout(KernelContext& c, int i, Layout layout) {
  if (is_blocked(c.input(i)) && c.input(i).layout() != layout)
    c.set_input(i, in_layout(c.allocator(), c.input(i), Layout::kRowMajor));
  return c.input(i).layout();
}

Layout align_layouts(KernelContext& c, int first) {
  int example = first;
  while (example < c.inputs() && !is_blocked(c.input(example))) ++example;
  if (example == c.inputs()) return Layout::kRowMajor;
  Layout layout = c.input(example).layout();
  const Shape shape = c.input(example).shape();
  for (int i = first; i < c.inputs(); ++i)
    if (const Shape& other = c.input(i).shape();
        other != shape &&
        (c.input(i).count() != 1 || other.rank() > shape.rank()))
      layout = Layout::kRowMajor;
  for (int i = first; i < c.inputs(); ++i)
    if (c.input(i).shape() == shape)
      c.set_input(i, in_layout(c.allocator(), c.input(i), layout));
    else if (is_blocked(c.input(i)))
      c.set_input(i, in_layout(c.allocator(), c.input(i), Layout::kRowMajor));
  return layout;
}

}  // namespace rondo
