#include "rondo/kernels/cpu/winograd_conv.h"

#include <algorithm>
#include <vector>

#include "rondo/kernels/cpu/parallel.h"

namespace rondo {

using winograd::Channels;
using winograd::kBlock;
using winograd::kFilter;
using winograd::kOut;
using winograd::kPlaces;
using winograd::kRows;
using winograd::kTile;

namespace {

constexpr int64_t kTaps = kFilter * kFilter;
constexpr int64_t kFloat = sizeof(float);

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

Channels or_zeros(const Channels& element) {
  alignas(64) static float zeros[kBlock];
  return element.first ? element : Channels{zeros, 0};
}

}  // namespace

bool WinogradConv::suits(ConvDirection direction, const ConvShape& s,
                         const Epilogue& epilogue, Blocked blocked) {
  // Tiles beyond the edge are for nothing, and the filter's change of place
  // is worth it for some tiles only.
  constexpr int64_t kLeastSize = 4;
  constexpr int64_t kLeastTiles = 64;
  const auto suits = [](const WindowAxis& a) {
    return a.size == kFilter && a.stride == 1 && a.dilation == 1 &&
           std::min(a.in, a.out) >= kLeastSize;
  };
  const bool to_filter = direction == ConvDirection::kBackwardFilter;
  const bool reads_x = direction != ConvDirection::kBackwardInput;
  const bool reads_y = direction != ConvDirection::kForward;
  // An image row-major with its channels apart is not for vectors of channels.
  const bool in_vectors =
      s.channels_last || ((!reads_x || blocked.x) && (!reads_y || blocked.y) &&
                          (to_filter || blocked.result));
  return s.groups == 1 && suits(s.height) && suits(s.width) &&
         s.in_channels % kBlock == 0 && s.out_channels % kBlock == 0 &&
         s.batch * s.height.out * s.width.out >= kLeastTiles * kOut * kOut &&
         in_vectors &&
         (!epilogue.activation ||
          *epilogue.activation == dnnl::algorithm::eltwise_relu);
}

WinogradConv::WinogradConv(ConvDirection direction, const ConvShape& s,
                           const Epilogue& epilogue, Blocked blocked)
    : direction_(direction), epilogue_(epilogue) {
  const bool to_input = direction == ConvDirection::kBackwardInput;
  const bool to_filter = direction == ConvDirection::kBackwardFilter;
  Image x = {s.in_channels, s.height.in, s.width.in, blocked.x};
  Image y = {s.out_channels, s.height.out, s.width.out, blocked.y};
  // Blocked what comes of what is blocked.
  gives_blocked_ = blocked.result && !to_filter &&
                   (!s.channels_last || (to_input ? blocked.y : blocked.x));
  if (gives_blocked_) (to_input ? x : y).blocked = true;
  source_ = to_input ? y : x;
  result_ = to_input ? x : y;
  before_[0] = to_input ? kFilter - 1 - s.height.before : s.height.before;
  before_[1] = to_input ? kFilter - 1 - s.width.before : s.width.before;
  tiles_[0] = up(result_.height, kOut) / kOut;
  tiles_[1] = up(result_.width, kOut) / kOut;
  all_tiles_ = s.batch * tiles_[0] * tiles_[1];

  // A group's matrices should stay in the cache of a core beside the filter's.
  constexpr int64_t kCache = 384 << 10;
  const int64_t tile_bytes =
      kPlaces * (source_.channels + result_.channels) * kFloat;
  group_ = std::clamp<int64_t>(kCache / tile_bytes / kRows, 2, 16) * kRows;
  groups_ = up(all_tiles_, group_) / group_;
  parts_ = std::min<int64_t>(intra_op_threads(), groups_);
  filter_matrix_ = source_.channels * result_.channels + kBlock;
  filters_at_ =
      reserve(kPlaces * filter_matrix_ * kFloat * (to_filter ? parts_ : 1));
  sources_at_ = reserve(kPlaces * matrix(source_.channels) * kFloat * parts_);
  results_at_ = reserve(kPlaces * matrix(result_.channels) * kFloat * parts_);
}

Channels WinogradConv::Image::at(float* data, int64_t n, int64_t i,
                                 int64_t j) const {
  if (i < 0 || j < 0 || i >= height || j >= width) return {nullptr, 0};
  const int64_t element = (n * height + i) * width + j;
  if (!blocked) return {data + element * channels, kBlock};
  const int64_t plane = height * width;
  return {data + (n * plane * channels + (i * width + j) * kBlock),
          plane * kBlock};
}

void WinogradConv::each_group(char* workspace,
                              FunctionRef<void(const Part&, Group)> f) const {
  const auto place = [&](int64_t at) {
    return reinterpret_cast<float*>(workspace + at);
  };
  const bool to_filter = direction_ == ConvDirection::kBackwardFilter;
  parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const Part part = {
          .first = groups_ * p / parts_,
          .last = groups_ * (p + 1) / parts_ - 1,
          .filters = place(filters_at_) +
                     (to_filter ? p * kPlaces * filter_matrix_ : 0),
          .sources =
              place(sources_at_) + p * kPlaces * matrix(source_.channels),
          .results =
              place(results_at_) + p * kPlaces * matrix(result_.channels)};
      for (int64_t g = part.first; g <= part.last; ++g)
        f(part, {g * group_, std::min(group_, all_tiles_ - g * group_)});
    }
  });
}

void WinogradConv::each_tile(
    Group group,
    FunctionRef<void(int64_t, int64_t, int64_t, int64_t)> f) const {
  for (int64_t t = 0; t < group.count; ++t) {
    const int64_t all = group.first + t;
    f(t, all / (tiles_[0] * tiles_[1]), all / tiles_[1] % tiles_[0] * kOut,
      all % tiles_[1] * kOut);
  }
}

void WinogradConv::gather_source(float* source, Group group, float* to) const {
  each_tile(group, [&](int64_t t, int64_t n, int64_t i, int64_t j) {
    Channels tile[kPlaces];
    for (int64_t k = 0; k < kPlaces; ++k)
      tile[k] = or_zeros(source_.at(source, n, i - before_[0] + k / kTile,
                                    j - before_[1] + k % kTile));
    winograd::tile_to_places(tile, source_.channels,
                             row(to, t, source_.channels));
  });
}

// To matrices with a row for each channel of the source and a column for each
// of the result. The gradient's are those of the filter turned round,
// transposed.
void WinogradConv::transform_filter(const float* filter, float* to) const {
  const bool turned = direction_ == ConvDirection::kBackwardInput;
  const int64_t in = turned ? result_.channels : source_.channels;
  const int64_t out = turned ? source_.channels : result_.channels;
  if (!turned) {
    parallel_for(in, kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        winograd::filter_to_places(filter + c * out, in * out, out,
                                   {to + c * out, filter_matrix_});
    });
    return;
  }
  const float* const last = filter + (kTaps - 1) * in * out;
  parallel_for(in, kBlock, [&](int64_t begin, int64_t end) {
    std::vector<float> rows(static_cast<size_t>(kBlock * kPlaces * out));
    for (int64_t first = begin; first < end; first += kBlock) {
      for (int64_t c = 0; c < kBlock; ++c)
        winograd::filter_to_places(last + (first + c) * out, -in * out, out,
                                   {rows.data() + c * kPlaces * out, out});
      for (int64_t k = 0; k < kPlaces; ++k)
        for (int64_t o = 0; o < out; ++o)
          for (int64_t c = 0; c < kBlock; ++c)
            to[k * filter_matrix_ + o * in + first + c] =
                rows[static_cast<size_t>((c * kPlaces + k) * out + o)];
    }
  });
}

void WinogradConv::convolve(float* source, const float* filter, float* result,
                            const float* bias, char* workspace) const {
  const winograd::Finish finish = {bias, epilogue_.activation.has_value(),
                                   epilogue_.alpha};
  const int64_t in = source_.channels;
  const int64_t out = result_.channels;
  transform_filter(filter, reinterpret_cast<float*>(workspace + filters_at_));
  each_group(workspace, [&](const Part& part, Group group) {
    gather_source(source, group, part.sources);
    const int64_t rows = up(group.count, kRows);
    for (int64_t k = 0; k < kPlaces; ++k) {
      float* const rows_in = part.sources + k * matrix(in);
      std::fill(rows_in + group.count * in, rows_in + rows * in, 0.F);
      winograd::multiply({.a = rows_in,
                          .a_row = in,
                          .a_k = 1,
                          .b = part.filters + k * filter_matrix_,
                          .b_k = out,
                          .to = part.results + k * matrix(out),
                          .to_row = out,
                          .rows = rows,
                          .inner = in,
                          .columns = out,
                          .add = false});
    }
    each_tile(group, [&](int64_t t, int64_t n, int64_t i, int64_t j) {
      Channels to[kOut * kOut];
      for (int64_t k = 0; k < kOut * kOut; ++k)
        to[k] = result_.at(result, n, i + k / kOut, j + k % kOut);
      winograd::places_to_result(row(part.results, t, out), out, finish, to);
    });
  });
}

void WinogradConv::filter_gradient(float* source, float* filter, float* result,
                                   char* workspace) const {
  const int64_t in = source_.channels;
  const int64_t out = result_.channels;
  each_group(workspace, [&](const Part& part, Group group) {
    gather_source(source, group, part.sources);
    each_tile(group, [&](int64_t t, int64_t n, int64_t i, int64_t j) {
      Channels from[kOut * kOut];
      for (int64_t k = 0; k < kOut * kOut; ++k)
        from[k] = or_zeros(result_.at(result, n, i + k / kOut, j + k % kOut));
      winograd::result_to_places(from, out, row(part.results, t, out));
    });
    for (int64_t k = 0; k < kPlaces; ++k)
      winograd::multiply({.a = part.sources + k * matrix(in),
                          .a_row = 1,
                          .a_k = in,
                          .b = part.results + k * matrix(out),
                          .b_k = out,
                          .to = part.filters + k * filter_matrix_,
                          .to_row = out,
                          .rows = in,
                          .inner = group.count,
                          .columns = out,
                          .add = group.first != part.first * group_});
  });
  const auto sums = reinterpret_cast<float*>(workspace + filters_at_);
  parallel_for(in, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      winograd::places_to_filter({sums + c * out, filter_matrix_}, parts_,
                                 kPlaces * filter_matrix_, out,
                                 filter + c * out, in * out);
  });
}

void WinogradConv::execute(void* x, void* filter, void* y, void* workspace,
                           void* bias) const {
  const auto floats = [](void* data) { return static_cast<float*>(data); };
  const auto place = static_cast<char*>(workspace);
  switch (direction_) {
    case ConvDirection::kForward:
      return convolve(floats(x), floats(filter), floats(y), floats(bias),
                      place);
    case ConvDirection::kBackwardInput:
      return convolve(floats(y), floats(filter), floats(x), nullptr, place);
    case ConvDirection::kBackwardFilter:
      return filter_gradient(floats(x), floats(filter), floats(y), place);
  }
}

}  // namespace rondo
