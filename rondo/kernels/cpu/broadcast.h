// Broadcast: how element-wise kernels walk over tensors of different shapes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "rondo/base/status.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// Elements that are worth a thread of their own.
inline constexpr int64_t kElementGrain = 1 << 15;

// The shape of up to eight tensors broadcast together, as few axes as do, each
// tensor by its step along each axis: 0 where it is repeated. Neighbouring axes
// along which every tensor goes on in the same way are one, so tensors of the
// same shape have one axis, a matrix and a row vector two. Along the last axis
// every step is 0 or 1.
struct Broadcast {
  static constexpr int kMaxAxes = 32;
  static constexpr int kMaxInputs = 8;
  using Steps = std::array<int64_t, kMaxInputs>;

  int inputs = 0;
  int axes = 1;
  std::array<int64_t, kMaxAxes> extent{};  // outermost first
  std::array<Steps, kMaxAxes> step{};      // by axis, then by input

  int64_t width() const { return extent[static_cast<size_t>(axes - 1)]; }
  const Steps& inner_step() const {
    return step[static_cast<size_t>(axes - 1)];
  }
  int64_t rows() const;
};

// What all of these have when broadcast together; an error when they cannot.
Result<Shape> broadcast_shape(std::span<const Tensor* const> inputs);
// How tensors of these shapes are walked to make one of shape `out`. The error
// says which cannot be broadcast to it.
Result<Broadcast> plan_broadcast(const Shape& out,
                                 std::span<const Shape* const> inputs);

// Calls row(at, out, n) for pieces of rows that together are all elements, on
// several threads when there are many: elements out, …, out + n - 1 of the
// result come from those at at[i] + k * inner_step()[i] of input i.
template <class Row>
void for_each_row(const Broadcast& b, const Row& row) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t width = b.width();
  const int64_t rows = b.rows();
  const auto inputs = static_cast<size_t>(b.inputs);
  if (width == 0 || rows == 0) return;
  const int64_t piece = std::min(width, kPiece);
  const int64_t pieces = (width + piece - 1) / piece;
  const auto body = [&](int64_t begin, int64_t end) {
    std::array<int64_t, Broadcast::kMaxAxes> index{};
    Broadcast::Steps at{};
    int64_t r = begin / pieces;
    int64_t p = begin % pieces;
    int64_t rest = r;
    for (int axis = b.axes - 2; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      index[a] = rest % b.extent[a];
      rest /= b.extent[a];
      for (size_t i = 0; i < inputs; ++i) at[i] += index[a] * b.step[a][i];
    }
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t start = p * piece;
      Broadcast::Steps from = at;
      for (size_t i = 0; i < inputs; ++i) from[i] += start * b.inner_step()[i];
      row(from, r * width + start, std::min(piece, width - start));
      if (++p < pieces) continue;
      p = 0;
      ++r;
      for (int axis = b.axes - 2; axis >= 0; --axis) {
        const auto a = static_cast<size_t>(axis);
        for (size_t i = 0; i < inputs; ++i) at[i] += b.step[a][i];
        if (++index[a] < b.extent[a]) break;
        for (size_t i = 0; i < inputs; ++i) at[i] -= b.extent[a] * b.step[a][i];
        index[a] = 0;
      }
    }
  };
  const int64_t grain = std::max<int64_t>(1, kElementGrain / piece);
  if (rows * pieces <= grain)
    body(0, rows * pieces);
  else
    parallel_for(rows * pieces, grain, std::cref(body));
}

}  // namespace rondo
