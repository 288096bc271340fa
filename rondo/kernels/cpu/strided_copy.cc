#include "rondo/kernels/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

// Bytes below which a second thread costs more than it brings.
constexpr int64_t kPiece = 1 << 16;
// The side of the blocks in which a transposing copy goes, in elements.
constexpr int64_t kBlock = 64;

using Axes = CopyAxes;  // here with strides in bytes

// Drops axes of extent 1, and makes one of two where both sides step from the
// end of the inner one to the next of the outer one.
Axes merged(const Axes& axes) {
  Axes few;
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!few.empty() && few.back().from == axis.extent * axis.from &&
        few.back().to == axis.extent * axis.to)
      few.back() = {few.back().extent * axis.extent, axis.from, axis.to};
    else
      few.push_back(axis);
  }
  return few;
}

int64_t count_of(const Axes& axes) {
  int64_t count = 1;
  for (const CopyAxis& axis : axes) count *= axis.extent;
  return count;
}

// The offsets of one index of some axes after the other.
class Walk {
 public:
  Walk(const Axes& axes, int64_t at) : axes_(axes), index_(axes.size()) {
    for (size_t i = axes.size(); i-- > 0;) {
      index_[i] = at % axes[i].extent;
      at /= axes[i].extent;
      from_ += index_[i] * axes[i].from;
      to_ += index_[i] * axes[i].to;
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      const CopyAxis& axis = axes_[i];
      from_ += axis.from;
      to_ += axis.to;
      if (++index_[i] < axis.extent) return;
      index_[i] = 0;
      from_ -= axis.extent * axis.from;
      to_ -= axis.extent * axis.to;
    }
  }

 private:
  const Axes& axes_;
  FewInts index_;
  int64_t from_ = 0;
  int64_t to_ = 0;
};

// Rows that are contiguous on both sides, divided among threads by bytes, so
// that one long row is divided too.
void copy_rows(const char* from, char* to, const Axes& outer,
               int64_t row_bytes) {
  parallel_for(count_of(outer) * row_bytes, kPiece,
               [&](int64_t begin, int64_t end) {
                 Walk walk(outer, begin / row_bytes);
                 int64_t skip = begin % row_bytes;
                 for (int64_t at = begin; at < end; walk.next()) {
                   const int64_t n = std::min(row_bytes - skip, end - at);
                   std::memcpy(to + walk.to() + skip, from + walk.from() + skip,
                               static_cast<size_t>(n));
                   at += n;
                   skip = 0;
                 }
               });
}

template <size_t kSize>
void copy_line(const char* from, char* to, const CopyAxis& line) {
  const auto size = static_cast<int64_t>(kSize);
  if (line.to == size && line.from == 0) {
    char element[kSize];
    std::memcpy(element, from, kSize);
    for (int64_t i = 0; i < line.extent; ++i)
      std::memcpy(to + i * size, element, kSize);
  } else if (line.to == size) {
    for (int64_t i = 0; i < line.extent; ++i)
      std::memcpy(to + i * size, from + i * line.from, kSize);
  } else {
    for (int64_t i = 0; i < line.extent; ++i)
      std::memcpy(to + i * line.to, from + i * line.from, kSize);
  }
}

template <size_t kSize>
void copy_lines(const char* from, char* to, Axes outer) {
  const CopyAxis line = outer.back();
  outer.pop_back();
  const auto size = static_cast<int64_t>(kSize);
  if (outer.empty()) {
    parallel_for(line.extent, kPiece / size, [&](int64_t begin, int64_t end) {
      copy_line<kSize>(from + begin * line.from, to + begin * line.to,
                       {end - begin, line.from, line.to});
    });
    return;
  }
  parallel_for(count_of(outer),
               std::max<int64_t>(1, kPiece / (line.extent * size)),
               [&](int64_t begin, int64_t end) {
                 Walk walk(outer, begin);
                 for (int64_t i = begin; i < end; ++i, walk.next())
                   copy_line<kSize>(from + walk.from(), to + walk.to(), line);
               });
}

// 16 bytes as elements of a type that has their size.
template <size_t kSize>
struct Lanes {
  using Element = std::conditional_t<
      kSize == 1, uint8_t,
      std::conditional_t<kSize == 2, uint16_t,
                         std::conditional_t<kSize == 4, uint32_t, uint64_t>>>;
  typedef Element Vector __attribute__((vector_size(16)));
  static constexpr size_t kCount = 16 / kSize;
};

// a[h], b[h], a[h + 1], b[h + 1], …, with h the first or the middle element.
template <bool kHigh, class Vector, size_t... i>
Vector zip(Vector a, Vector b, std::index_sequence<i...>) {
  constexpr size_t kFirst = kHigh ? sizeof...(i) / 2 : 0;
  return __builtin_shufflevector(a, b,
                                 (kFirst + i / 2 + i % 2 * sizeof...(i))...);
}

// A square of kTile by kTile elements, by way of a buffer, so that each cache
// line of either side is touched once: with strides that are powers of two they
// would otherwise drive each other out of the cache.
template <size_t kSize>
inline constexpr int64_t kTile = kSize == 8 ? 8 : 16;

template <size_t kSize>
void transpose_tile(const char* from, int64_t from_stride, char* to,
                    int64_t to_stride) {
  using Vector = typename Lanes<kSize>::Vector;
  constexpr size_t kLanes = Lanes<kSize>::kCount;
  constexpr auto kEach = std::make_index_sequence<kLanes>();
  constexpr auto kSide = static_cast<size_t>(kTile<kSize>);
  Vector buffer[kSide][kSide / kLanes];
  for (size_t k = 0; k < kSide; k += kLanes)
    for (size_t r = 0; r < kSide; r += kLanes) {
      // Zipping the first half of the lines with the second, as often as the
      // number of lines can be halved, makes columns of them.
      Vector lines[kLanes], zipped[kLanes];
      for (size_t i = 0; i < kLanes; ++i)
        std::memcpy(
            &lines[i],
            from + static_cast<int64_t>(k + i) * from_stride + r * kSize,
            sizeof lines[i]);
      for (size_t half = kLanes / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < kLanes / 2; ++i) {
          zipped[2 * i] = zip<false>(lines[i], lines[i + kLanes / 2], kEach);
          zipped[2 * i + 1] = zip<true>(lines[i], lines[i + kLanes / 2], kEach);
        }
        std::memcpy(lines, zipped, sizeof lines);
      }
      for (size_t i = 0; i < kLanes; ++i) buffer[r + i][k / kLanes] = lines[i];
    }
  for (size_t r = 0; r < kSide; ++r)
    std::memcpy(to + static_cast<int64_t>(r) * to_stride, buffer[r],
                sizeof buffer[r]);
}

// `rows` is contiguous in what is read, `line` in what is written.
template <size_t kSize>
void transpose_block(const char* from, char* to, const CopyAxis& rows,
                     const CopyAxis& line) {
  constexpr int64_t kSide = kTile<kSize>;
  const auto size = static_cast<int64_t>(kSize);
  for (int64_t r = 0; r < rows.extent; r += kSide)
    for (int64_t k = 0; k < line.extent; k += kSide) {
      const char* source = from + r * size + k * line.from;
      char* target = to + r * rows.to + k * size;
      const int64_t n = std::min(kSide, rows.extent - r);
      const int64_t m = std::min(kSide, line.extent - k);
      if constexpr (kSize <= 8)
        if (n == kSide && m == kSide) {
          transpose_tile<kSize>(source, line.from, target, rows.to);
          continue;
        }
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j)
          std::memcpy(target + i * rows.to + j * size,
                      source + i * size + j * line.from, kSize);
    }
}

// One side is contiguous along axis `rows_at`, the other along the last: in
// blocks of both that touch no more pages than the processor remembers.
template <size_t kSize>
void copy_transposed(const char* from, char* to, Axes axes, size_t rows_at) {
  const CopyAxis line = axes.back();
  const CopyAxis rows = axes[rows_at];
  axes.pop_back();
  axes.erase(axes.begin() + static_cast<int64_t>(rows_at));
  const auto blocks_of = [](const CopyAxis& axis) {
    return (axis.extent + kBlock - 1) / kBlock;
  };
  axes.push_back({blocks_of(rows), kBlock * rows.from, kBlock * rows.to});
  axes.push_back({blocks_of(line), kBlock * line.from, kBlock * line.to});
  const auto part = [](const CopyAxis& axis, int64_t block) {
    return CopyAxis{std::min(kBlock, axis.extent - block * kBlock), axis.from,
                    axis.to};
  };
  const int64_t bytes = std::min(kBlock, rows.extent) *
                        std::min(kBlock, line.extent) *
                        static_cast<int64_t>(kSize);
  parallel_for(count_of(axes), std::max<int64_t>(1, kPiece / bytes),
               [&](int64_t begin, int64_t end) {
                 Walk walk(axes, begin);
                 for (int64_t i = begin; i < end; ++i, walk.next())
                   transpose_block<kSize>(
                       from + walk.from(), to + walk.to(),
                       part(rows, i / blocks_of(line) % blocks_of(rows)),
                       part(line, i % blocks_of(line)));
               });
}

template <size_t kSize>
void copy_elements(const char* from, char* to, Axes axes) {
  const auto size = static_cast<int64_t>(kSize);
  if (axes.empty()) {
    std::memcpy(to, from, kSize);
    return;
  }
  const CopyAxis& line = axes.back();
  if (line.to == size && line.extent >= 4)
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      if (axes[i].from == size && axes[i].extent >= 4) {
        copy_transposed<kSize>(from, to, std::move(axes), i);
        return;
      }
  copy_lines<kSize>(from, to, std::move(axes));
}

}  // namespace

FewInts strides_of(const Shape& shape) {
  FewInts strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int i = shape.rank(); i-- > 0;) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return strides;
}

void strided_copy(size_t size, const void* from, void* to, CopyAxes axes) {
  auto width = static_cast<int64_t>(size);
  for (CopyAxis& axis : axes) {
    if (axis.extent == 0) return;
    axis.from *= width;
    axis.to *= width;
  }
  axes = merged(axes);
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  if (!axes.empty() && axes.back().from == width && axes.back().to == width) {
    width *= axes.back().extent;
    axes.pop_back();
  }
  // What is contiguous and as long as an element is moved as one.
  switch (width) {
    case 1: return copy_elements<1>(source, target, std::move(axes));
    case 2: return copy_elements<2>(source, target, std::move(axes));
    case 4: return copy_elements<4>(source, target, std::move(axes));
    case 8: return copy_elements<8>(source, target, std::move(axes));
    case 16: return copy_elements<16>(source, target, std::move(axes));
    case 64: return copy_elements<64>(source, target, std::move(axes));
    default: return copy_rows(source, target, axes, width);
  }
}

void parallel_zero(void* to, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), kPiece,
               [&](int64_t begin, int64_t end) {
                 std::memset(static_cast<char*>(to) + begin, 0,
                             static_cast<size_t>(end - begin));
               });
}

}  // namespace rondo
