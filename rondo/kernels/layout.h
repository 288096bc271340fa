// Blocked images: between kernels that take them, convolutions leave channels
// in blocks of 16, as oneDNN computes on them.
#pragma once

#include "rondo/kernels/kernel.h"

namespace rondo {

inline bool is_blocked(const Tensor& tensor) {
  return tensor.layout() != Layout::kRowMajor;
}
// Whether images of `shape`, whose channels are in the last axis or in axis 1,
// can be blocked.
bool can_block(const Shape& shape, bool channels_last);
inline Layout blocked_layout(bool channels_last) {
  return channels_last ? Layout::kNhwc16 : Layout::kNchw16;
}

// The same elements in another layout; the tensor itself where it has it.
RONDO_API Tensor in_layout(Allocator& allocator, const Tensor& tensor,
                           Layout layout);

// Makes input i row-major unless it has `layout`; gives what it has then.
Layout accept_layout(KernelContext& context, int i, Layout layout);
// Brings those of the context's inputs from `first` on that have the shape of a
// blocked one into that one's layout, which it gives; those of one element and
// no more axes stay as they are. Where an input is neither, all become
// row-major.
Layout align_layouts(KernelContext& context, int first = 0);

}  // namespace rondo
