#include "rondo/graph/ops/window.h"

#include <algorithm>

namespace rondo {
namespace {

template <size_t N>
Status read(const Attrs& attrs, std::string_view name, int64_t least,
            std::array<int64_t, N>& to) {
  const Ints& ints = attrs.get<Ints>(name);
  const bool fits =
      ints.size() == N && std::ranges::all_of(ints, [&](int64_t i) {
        return i >= least && i <= INT32_MAX;
      });
  if (!fits)
    return error(Code::kInvalidArgument,
                 "attribute \"{}\" is {}, expected {} integers of at least {}",
                 name, to_string(AttrValue(ints)), N, least);
  std::ranges::copy(ints, to.begin());
  return {};
}

}  // namespace

bool WindowOptions::channels_last() const { return data_format == "NHWC"; }

Result<WindowOptions> window_options(const Attrs& attrs) {
  WindowOptions options;
  RONDO_RETURN_IF_ERROR(read(attrs, "strides", 1, options.strides));
  if (attrs.has("dilations"))
    RONDO_RETURN_IF_ERROR(read(attrs, "dilations", 1, options.dilations));
  options.padding = attrs.get<std::string>("padding");
  options.data_format = attrs.get<std::string>("data_format");
  if (options.padding == "EXPLICIT") {
    RONDO_RETURN_IF_ERROR(
        read(attrs, "explicit_paddings", 0, options.paddings));
  } else if (options.padding != "SAME" && options.padding != "VALID") {
    return error(Code::kInvalidArgument,
                 "attribute \"padding\" is \"{}\", expected \"SAME\", "
                 "\"VALID\" or \"EXPLICIT\"",
                 options.padding);
  } else if (!attrs.get<Ints>("explicit_paddings").empty()) {
    return error(Code::kInvalidArgument,
                 "attribute \"explicit_paddings\" is {}, but \"padding\" is "
                 "\"{}\"; expected \"EXPLICIT\"",
                 to_string(AttrValue(attrs.get<Ints>("explicit_paddings"))),
                 options.padding);
  }
  if (options.data_format != "NHWC" && options.data_format != "NCHW")
    return error(Code::kInvalidArgument,
                 "attribute \"data_format\" is \"{}\", expected \"NHWC\" or "
                 "\"NCHW\"",
                 options.data_format);
  return options;
}

void set_window(Attrs& attrs, const WindowOptions& options, bool dilations) {
  const auto ints = [](const auto& array) {
    return Ints(array.begin(), array.end());
  };
  attrs.set("strides", ints(options.strides));
  if (dilations) attrs.set("dilations", ints(options.dilations));
  attrs.set("padding", options.padding);
  attrs.set("explicit_paddings",
            options.padding == "EXPLICIT" ? ints(options.paddings) : Ints());
  attrs.set("data_format", options.data_format);
}

std::vector<AttrSpec> window_attrs(bool dilations) {
  std::vector<AttrSpec> attrs = {
      {"strides", Ints{1, 1}, false,
       "by how much the window moves, in height and width"},
      {"padding", std::string("VALID"), false,
       "\"SAME\": zeros around the image such that there are ceil(extent / "
       "stride) positions, the odd one at the bottom and right; \"VALID\": "
       "none; \"EXPLICIT\": as explicit_paddings says"},
      {"explicit_paddings", Ints{}, false,
       "top, bottom, left and right, for padding \"EXPLICIT\""},
      {"data_format", std::string("NHWC"), false,
       "\"NHWC\": images are [batch, height, width, channels]; \"NCHW\": "
       "[batch, channels, height, width]"}};
  if (dilations)
    attrs.push_back({"dilations", Ints{1, 1}, false,
                     "how far apart the elements of the window are, in height "
                     "and width"});
  return attrs;
}

Result<WindowAxis> window_axis(const WindowOptions& options, int direction,
                               int64_t in, int64_t size) {
  const auto d = static_cast<size_t>(direction);
  WindowAxis axis{.in = in,
                  .size = size,
                  .stride = options.strides[d],
                  .dilation = options.dilations[d]};
  const bool same = options.padding == "SAME";
  if (options.padding == "EXPLICIT") {
    axis.before = options.paddings[2 * d];
    axis.after = options.paddings[2 * d + 1];
  }
  if (size == 0)
    return error(Code::kInvalidArgument, "the window has extent 0 in {}",
                 direction == 0 ? "height" : "width");
  if (same && in != kAny) axis.out = (in + axis.stride - 1) / axis.stride;
  if (in == kAny || size == kAny) {
    if (!same || in == kAny) axis.out = kAny;
    return axis;
  }
  const int64_t reach = (size - 1) * axis.dilation + 1;
  if (same) {
    const int64_t padding =
        std::max<int64_t>(0, (axis.out - 1) * axis.stride + reach - in);
    axis.before = padding / 2;
    axis.after = padding - axis.before;
    return axis;
  }
  const int64_t room = in + axis.before + axis.after - reach;
  if (room < 0)
    return error(Code::kInvalidArgument,
                 "the window has {} {}, more than the image's {}",
                 direction == 0 ? "height" : "width", reach,
                 in + axis.before + axis.after);
  axis.out = room / axis.stride + 1;
  return axis;
}

PartialShape image_shape_from(const InferContext& c, int i) {
  if (const auto ints = c.constant_ints(i)) return PartialShape(*ints);
  return PartialShape::of_rank(4);
}

}  // namespace rondo
