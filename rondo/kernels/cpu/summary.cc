#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/histogram.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/summary_image.h"
#include "rondo/kernels/summary.pb.h"

namespace rondo {
namespace {

const std::string& tag_of(const Node& node) {
  return node.attrs().get<std::string>("tag");
}

Status give(KernelContext& c, const std::string& bytes) {
  Tensor& y = c.allocate(0, DType::kU8, {static_cast<int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(y.data(), bytes.data(), bytes.size());
  return {};
}

Status give(KernelContext& c, const proto::Summary& summary) {
  return give(c, summary.SerializeAsString());
}

std::string_view text_of(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.data()), bytes.bytes()};
}

Status run_scalar(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.count() != 1)
    return error(Code::kInvalidArgument,
                 "value has shape {}, expected a scalar",
                 x.shape().to_string());
  proto::Summary summary;
  auto& value = *summary.add_value();
  value.set_tag(tag_of(node));
  dispatch_any(x.dtype(), [&]<class T>() {
    value.set_simple_value(static_cast<float>(load(x.span<T>()[0])));
  });
  return give(c, summary);
}

Status run_histogram(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  Histogram histogram;
  int64_t bad = -1;
  dispatch_any(x.dtype(), [&]<class T>() {
    const auto values = x.span<T>();
    for (size_t i = 0; i < values.size() && bad < 0; ++i) {
      const auto value = static_cast<double>(load(values[i]));
      if (std::isfinite(value))
        histogram.add(value);
      else
        bad = static_cast<int64_t>(i);
    }
  });
  if (bad >= 0)
    return error(Code::kInvalidArgument,
                 "element {} of the values for \"{}\" is not finite: {}", bad,
                 tag_of(node), x.to_string());
  proto::Summary summary;
  auto& value = *summary.add_value();
  value.set_tag(tag_of(node));
  auto& message = *value.mutable_histo();
  message.set_min(histogram.min());
  message.set_max(histogram.max());
  message.set_num(static_cast<double>(histogram.count()));
  message.set_sum(histogram.sum());
  message.set_sum_squares(histogram.sum_squares());
  for (const Histogram::Bucket& bucket : histogram.buckets()) {
    message.add_bucket_limit(bucket.limit);
    message.add_bucket(bucket.count);
  }
  return give(c, summary);
}

Status run_image(const Node& node, KernelContext& c) {
  const Tensor& images = c.input(0);
  const Shape& shape = images.shape();
  if (shape.rank() != 4)
    return error(Code::kInvalidArgument,
                 "images have shape {}, expected [batch, height, width, "
                 "channels]",
                 shape.to_string());
  const ImageSize size = {shape[1], shape[2], shape[3]};
  const int64_t most = node.attrs().get<int64_t>("max_outputs");
  proto::Summary summary;
  for (int64_t i = 0; i < std::min(most, shape[0]); ++i) {
    RONDO_ASSIGN_OR_RETURN(
        std::string png,
        encode_png(size,
                   pixels_of(images, i, node.attrs().get<Ints>("bad_color"))));
    auto& value = *summary.add_value();
    value.set_tag(most == 1 ? tag_of(node) + "/image"
                            : fmt::format("{}/image/{}", tag_of(node), i));
    auto& image = *value.mutable_image();
    image.set_height(static_cast<int32_t>(size.height));
    image.set_width(static_cast<int32_t>(size.width));
    image.set_colorspace(static_cast<int32_t>(size.channels));
    image.set_encoded_image_string(std::move(png));
  }
  return give(c, summary);
}

Status run_text(const Node& node, KernelContext& c) {
  constexpr int kString = 7;
  proto::Summary summary;
  auto& value = *summary.add_value();
  value.set_tag(tag_of(node));
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  auto& tensor = *value.mutable_tensor();
  tensor.set_dtype(kString);
  (void)tensor.mutable_tensor_shape();
  for (const int64_t extent : node.attrs().get<Ints>("shape"))
    tensor.mutable_tensor_shape()->add_dim()->set_size(extent);
  for (int i = 0; i < c.inputs(); ++i)
    tensor.add_string_val(std::string(text_of(c.input(i))));
  return give(c, summary);
}

Status run_merge(const Node&, KernelContext& c) {
  std::set<std::string> tags;
  std::string all;
  for (int i = 0; i < c.inputs(); ++i) {
    proto::Summary summary;
    const std::string_view bytes = text_of(c.input(i));
    constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();
    if (bytes.size() > kMostBytes ||
        !summary.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return error(Code::kInvalidArgument, "input {} is not a summary", i);
    for (const auto& value : summary.value())
      if (!tags.insert(value.tag()).second)
        return error(Code::kInvalidArgument,
                     "two of the summaries have the tag \"{}\": give one "
                     "another name",
                     value.tag());
    all += bytes;
  }
  return give(c, all);
}

}  // namespace

void register_summary_kernels(KernelRegistry& kernels) {
  kernels.add("ScalarSummary", "cpu", from_function(run_scalar));
  kernels.add("HistogramSummary", "cpu", from_function(run_histogram));
  kernels.add("ImageSummary", "cpu", from_function(run_image));
  kernels.add("TextSummary", "cpu", from_function(run_text));
  kernels.add("MergeSummary", "cpu", from_function(run_merge));
}

}  // namespace rondo
