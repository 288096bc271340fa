// WinogradConv: convolutions with filters of 5x5 by Winograd's minimal
// filtering, which oneDNN has for 3x3 alone.
#pragma once

#include "rondo/base/function_ref.h"
#include "rondo/kernels/cpu/conv_plan.h"
#include "rondo/kernels/cpu/conv_shape.h"
#include "rondo/kernels/cpu/epilogue.h"
#include "rondo/kernels/cpu/winograd_loops.h"

namespace rondo {

class WinogradConv final : public ConvPlan {
 public:
  // Whether there is one of floats, and it is faster than plain products.
  static bool suits(ConvDirection direction, const ConvShape& shape,
                    const Epilogue& epilogue, Blocked blocked);
  // For as many threads as intra_op_threads() says.
  WinogradConv(ConvDirection direction, const ConvShape& shape,
               const Epilogue& epilogue, Blocked blocked);

  void execute(void* x, void* filter, void* y, void* workspace,
               void* bias) const override;

 private:
  struct Image {
    int64_t channels;
    int64_t height;
    int64_t width;
    bool blocked;

    // The channels of an element, which have no address where it is outside.
    winograd::Channels at(float* data, int64_t n, int64_t i, int64_t j) const;
  };
  // The tiles [first, first + count) of all images. Those of a group are the
  // rows of 36 matrices, a column for each channel.
  struct Group {
    int64_t first;
    int64_t count;
  };
  // A thread's share of the groups, and its place in the workspace.
  struct Part {
    int64_t first;
    int64_t last;
    float* filters;
    float* sources;
    float* results;
  };

  // Floats from one matrix to the next; not a power of two, since caches hold
  // few lines at such distances.
  int64_t matrix(int64_t channels) const {
    return group_ * channels + winograd::kBlock;
  }
  winograd::Places row(float* matrices, int64_t tile, int64_t channels) const {
    return {matrices + tile * channels, matrix(channels)};
  }
  void each_group(char* workspace,
                  FunctionRef<void(const Part&, Group)> f) const;
  // f(number within the group, image, row and column of the result)
  void each_tile(Group group,
                 FunctionRef<void(int64_t, int64_t, int64_t, int64_t)> f) const;

  void gather_source(float* source, Group group, float* to) const;
  void convolve(float* source, const float* filter, float* result,
                const float* bias, char* workspace) const;
  void transform_filter(const float* filter, float* to) const;
  void filter_gradient(float* source, float* filter, float* result,
                       char* workspace) const;

  const ConvDirection direction_;
  const Epilogue epilogue_;
  Image source_;       // what tiles of 6x6 are taken of
  Image result_;       // ... for tiles of 2x2 of this
  int64_t before_[2];  // elements of padding, above and to the left
  int64_t tiles_[2];   // of an image, down and across
  int64_t all_tiles_;
  int64_t group_;  // tiles of a group at most
  int64_t groups_;
  int64_t parts_;  // as many as threads
  int64_t filter_matrix_;
  // In the workspace.
  int64_t filters_at_;
  int64_t sources_at_;
  int64_t results_at_;
};

}  // namespace rondo
