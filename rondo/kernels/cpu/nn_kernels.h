// The parts of the family of neural-network kernels, and what they share.
#pragma once

#include <algorithm>
#include <vector>

#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_loss_kernels(KernelRegistry& kernels);
void register_norm_kernels(KernelRegistry& kernels);
void register_batch_norm_kernels(KernelRegistry& kernels);
void register_cell_kernels(KernelRegistry& kernels);

// A tensor as rows of its last axis; a scalar has none.
struct LastAxisRows {
  int64_t count = 0;
  int64_t n = 0;

  explicit LastAxisRows(const Shape& shape) {
    if (shape.rank() == 0) return;
    count = 1;
    n = shape[shape.rank() - 1];
    for (int i = 0; i < shape.rank() - 1; ++i) count *= shape[i];
  }
  // How many rows are worth a thread.
  int64_t grain() const {
    return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n));
  }
};

// Where the channels of a tensor are: [outer, channels, inner], or, blocked,
// [outer, channels / kLanes, inner, kLanes].
struct Channels {
  static constexpr int64_t kLanes = 16;
  int64_t outer = 1;
  int64_t count = 0;
  int64_t inner = 1;
  bool blocked = false;

  // Calls f(at, channel) on several threads for each of the outer * blocks
  // pieces of a blocked tensor, which has `inner` rows of kLanes columns from
  // element `at` on, the columns being those of `channel` and behind it.
  template <class F>
  void each_piece(const F& f) const {
    const int64_t piece = inner * kLanes;
    const int64_t blocks = count / kLanes;
    parallel_for(outer * blocks, std::max<int64_t>(1, 16384 / (piece + 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p)
                     f(p * piece, p % blocks * kLanes);
                 });
  }
  // The same where a thread has all pieces of its channels.
  template <class F>
  void each_channel_piece(const F& f) const {
    const int64_t piece = inner * kLanes;
    const int64_t blocks = count / kLanes;
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t o = 0; o < outer; ++o)
          f((o * blocks + b) * piece, b * kLanes);
    });
  }
};
// By the data_format of the node, "NHWC" or "NCHW".
Result<Channels> channels_of(const Node& node, const Shape& shape);
// Of input i, which becomes row-major where it is blocked for another format.
Result<Channels> channels_of_input(const Node& node, KernelContext& context,
                                   int i);

// Divides rows among threads for sums: f(part, begin, end) for each part; gives
// the number of parts, which depends on sizes and the number of threads alone.
inline int64_t parts_of(int64_t rows, int64_t n) {
  return std::clamp<int64_t>(rows * n / 8192, 1,
                             std::min<int64_t>(rows + 1, intra_op_threads()));
}
template <class F>
void for_parts(int64_t parts, int64_t rows, const F& f) {
  const int64_t share = (rows + parts - 1) / parts;
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      f(p, std::min(rows, p * share), std::min(rows, (p + 1) * share));
  });
}

// to[i] = the sum over parts of from[part * n + i].
template <class T>
void add_parts(const T* from, int64_t parts, int64_t n, T* to) {
  std::copy_n(from, n, to);
  for (int64_t p = 1; p < parts; ++p)
    for (int64_t i = 0; i < n; ++i) to[i] += from[p * n + i];
}

// Zeros for the time of a run, in the device's memory.
template <class T>
class ScratchZeros {
 public:
  ScratchZeros(KernelContext& context, int64_t count)
      : tensor_(context.scratch(dtype_of<T>, {count})) {
    std::fill_n(data(), count, T{0});
  }
  T* data() { return tensor_.template span<T>().data(); }
  T& operator[](size_t i) { return data()[i]; }

 private:
  Tensor tensor_;
};

}  // namespace rondo
