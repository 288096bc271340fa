#include "rondo/graph/ops/summary.h"

#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status gives_summary(InferContext& c) {
  c.output(DType::kU8, {kAny});
  return {};
}

Status infer_scalar(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "value"));
  return gives_summary(c);
}

Status infer_image(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 4, "images"));
  if (c.dtype(0) != DType::kU8 && !contains(TypeSet::kFloat, c.dtype(0)))
    return error(Code::kInvalidArgument,
                 "images have type {}, expected u8 or a floating-point type",
                 name_of(c.dtype(0)));
  if (c.shape(0).has_rank()) {
    const int64_t channels = c.shape(0).extents()[3];
    if (channels != kAny && channels != 1 && channels != 3 && channels != 4)
      return error(Code::kInvalidArgument,
                   "images have {} channels, expected 1, 3 or 4", channels);
  }
  if (c.attr<int64_t>("max_outputs") < 1)
    return error(Code::kInvalidArgument,
                 "max_outputs is {}, expected 1 or more",
                 c.attr<int64_t>("max_outputs"));
  for (const int64_t part : c.attr<Ints>("bad_color"))
    if (part < 0 || part > 255)
      return error(Code::kInvalidArgument,
                   "bad_color has {}, which is not within 0 and 255", part);
  return gives_summary(c);
}

Status want_bytes(InferContext& c, std::string_view what) {
  for (int i = 0; i < c.inputs(); ++i) {
    const std::string name = fmt::format("{} {}", what, i);
    if (c.dtype(i) != DType::kU8)
      return error(Code::kInvalidArgument, "{} has type {}, expected u8", name,
                   name_of(c.dtype(i)));
    RONDO_RETURN_IF_ERROR(c.want_rank(i, 1, name));
  }
  return {};
}

Status infer_text(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, "text"));
  int64_t count = 1;
  for (const int64_t extent : c.attr<Ints>("shape")) {
    if (extent < 0)
      return error(Code::kInvalidArgument, "an extent of the shape is {}",
                   extent);
    count *= extent;
  }
  if (count != c.inputs())
    return error(Code::kInvalidArgument, "{} texts cannot have the shape {}",
                 c.inputs(), to_string(AttrValue(c.attr<Ints>("shape"))));
  return gives_summary(c);
}

Status infer_merge(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, "summary"));
  return gives_summary(c);
}

Value collected(Value summary) {
  summary.graph().collection(kSummaries).push_back(summary);
  return summary;
}

Value tagged(std::string_view op, std::string tag, Value input,
             Attrs attrs = {}) {
  attrs.set("tag", tag);
  return collected(make(op, {input}, std::move(attrs), std::move(tag)));
}

}  // namespace

void register_summary_ops(OpRegistry& ops) {
  const AttrSpec tag = {"tag", std::string(), true,
                        "what TensorBoard shows it under"};
  ops.add({.name = "ScalarSummary",
           .doc = "A summary with the value of a scalar.",
           .inputs = {{"value"}},
           .outputs = {"summary"},
           .attrs = {tag},
           .infer = infer_scalar,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "HistogramSummary",
           .doc = "A summary with the distribution of a tensor's elements, all "
                  "of which must be finite.",
           .inputs = {{"values"}},
           .outputs = {"summary"},
           .attrs = {tag},
           .infer = gives_summary,
           .constant = true,
           .cost = cost::per_input<0, 5>});
  ops.add({.name = "ImageSummary",
           .doc =
               "A summary with the first of images [batch, height, width, 1, "
               "3 or 4 channels], as PNG. Of floating-point images each is "
               "scaled: its largest value is white, and where it has "
               "negative ones 0 is grey.",
           .inputs = {{"images"}},
           .outputs = {"summary"},
           .attrs = {tag,
                     {"max_outputs", int64_t{3}, false, "so many images"},
                     {"bad_color", Ints{255, 0, 0, 255}, false,
                      "the colour of pixels that are not finite"}},
           .infer = infer_image,
           .constant = true,
           .cost = cost::per_input<0, 2>});
  ops.add({.name = "TextSummary",
           .doc = "A summary with text, which TensorBoard reads as Markdown; "
                  "several texts are shown as a table. A text is a vector of "
                  "u8.",
           .inputs = {{"texts", TypeSet::kAnyType, true}},
           .outputs = {"summary"},
           .attrs = {tag,
                     {"shape", Ints(), false,
                      "rows and columns of the table; empty: one text"}},
           .infer = infer_text,
           .constant = true,
           .cost = cost::copied});
  ops.add({.name = "MergeSummary",
           .doc = "The summaries as one. A tag may be in one of them only.",
           .inputs = {{"summaries", TypeSet::kAnyType, true}},
           .outputs = {"summary"},
           .infer = infer_merge,
           .constant = true,
           .cost = cost::copied});
}

Value scalar_summary(std::string tag, Value value) {
  return tagged("ScalarSummary", std::move(tag), value);
}

Value histogram_summary(std::string tag, Value values) {
  return tagged("HistogramSummary", std::move(tag), values);
}

Value image_summary(std::string tag, Value images,
                    ImageSummaryOptions options) {
  return tagged("ImageSummary", std::move(tag), images,
                {{"max_outputs", options.max_outputs},
                 {"bad_color", std::move(options.bad_color)}});
}

Value text_summary(std::string tag, Value text) {
  return tagged("TextSummary", std::move(tag), text);
}

Value merge_summary(const std::vector<Value>& summaries) {
  return make("MergeSummary", summaries);
}

Value merge_all_summaries(Graph& graph) {
  const std::vector<Value> all = graph.collection(kSummaries);
  if (all.empty())
    throw Error(Code::kInvalidArgument, "the graph has no summaries");
  return merge_summary(all);
}

Value text_constant(Graph& graph, std::string_view text) {
  Tensor bytes = Tensor::empty({static_cast<int64_t>(text.size())}, DType::kU8);
  std::ranges::copy(text, bytes.span<uint8_t>().begin());
  return constant(graph, std::move(bytes));
}

}  // namespace rondo
