#include "rondo/kernels/layout.h"

#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

// The channels' axis of a blocked layout.
int channel_axis(Layout layout) { return layout == Layout::kNhwc16 ? 3 : 1; }

// Blocks of channels, those of a block and places in the image, with strides in
// a row-major tensor and in a blocked one.
struct Blocks {
  int64_t images, image;  // how many, elements of one
  int64_t blocks, row_block, block;
  int64_t places, row_place;
  int64_t row_lane;
};
constexpr int64_t kLanes = 16;

Blocks blocks_of(const Shape& s, Layout blocked) {
  const bool last = blocked == Layout::kNhwc16;
  const int64_t channels = s[channel_axis(blocked)];
  const int64_t places = last ? s[1] * s[2] : s[2] * s[3];
  return {.images = s[0],
          .image = channels * places,
          .blocks = channels / kLanes,
          .row_block = last ? kLanes : kLanes * places,
          .block = kLanes * places,
          .places = places,
          .row_place = last ? channels : 1,
          .row_lane = last ? 1 : places};
}

// What is written is gone through from its beginning to its end.
CopyAxes to_blocked(const Blocks& b) {
  return {{b.images, b.image, b.image},
          {b.blocks, b.row_block, b.block},
          {b.places, b.row_place, kLanes},
          {kLanes, b.row_lane, 1}};
}
CopyAxes to_row_major(const Blocks& b) {
  const CopyAxis images{b.images, b.image, b.image};
  const CopyAxis blocks{b.blocks, b.block, b.row_block};
  const CopyAxis places{b.places, kLanes, b.row_place};
  const CopyAxis lanes{kLanes, 1, b.row_lane};
  if (b.row_lane == 1) return {images, places, blocks, lanes};
  return {images, blocks, lanes, places};
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
  const Blocks blocks = blocks_of(tensor.shape(), blocked);
  strided_copy(size_of(tensor.dtype()), tensor.data(), to.data(),
               is_blocked(tensor) ? to_row_major(blocks) : to_blocked(blocks));
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
