#include "rondo/graph/ops/searching.h"

#include <algorithm>
#include <cmath>

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"

namespace rondo {
namespace {

using array::exact_ints;
using array::extents_of;

Status infer_range(InferContext& c) {
  int64_t count = kAny;
  constexpr std::string_view kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i)
    RONDO_RETURN_IF_ERROR(c.want_scalar(i, kNames[i]));
  const auto start = exact_ints(c, 0);
  const auto limit = exact_ints(c, 1);
  const auto delta = exact_ints(c, 2);
  if (delta && delta->at(0) == 0)
    return error(Code::kInvalidArgument, "delta is 0");
  if (start && limit && delta) {
    const auto length =
        static_cast<double>(limit->at(0)) - static_cast<double>(start->at(0));
    const auto step = static_cast<double>(delta->at(0));
    // Where doubles are not exact the run will tell.
    if (std::abs(length) < 1e15)
      count =
          std::max<int64_t>(0, static_cast<int64_t>(std::ceil(length / step)));
  }
  c.output(c.dtype(0), {count});
  return {};
}

Status infer_top_k(InferContext& c) {
  const int64_t k = c.attr<int64_t>("k");
  if (k < 0) return error(Code::kInvalidArgument, "k is {}", k);
  PartialShape y = c.shape(0);
  if (y.has_rank()) {
    if (y.rank() == 0)
      return error(Code::kInvalidArgument,
                   "x is a scalar, expected a rank of 1 "
                   "or more");
    const int64_t extent = y[y.rank() - 1];
    if (extent != kAny && k > extent)
      return error(Code::kInvalidArgument,
                   "k is {}, but the last axis has extent {}", k, extent);
    y.set(y.rank() - 1, k);
  }
  c.output(c.dtype(0), y);
  c.output(DType::kI64, y);
  return {};
}

std::vector<Gradient> top_k_gradient(Node& node, std::span<const Value> grads) {
  if (!grads[0]) return {Gradient()};
  return {make("AddAlongAxis",
               {grads[0], node.output(1), shape_of(node.input(0))},
               {{"axis", int64_t{-1}}})};
}

Status infer_arg(InferContext& c) {
  if (!c.shape(0).has_rank()) {
    c.output(DType::kI64, {});
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(
      const int axis, resolve_axis(c.attr<int64_t>("axis"), c.shape(0).rank()));
  if (c.shape(0)[axis] == 0)
    return error(Code::kInvalidArgument,
                 "axis {} has extent 0, so no element of it is the extreme one",
                 axis);
  Ints extents = extents_of(c.shape(0));
  extents.erase(extents.begin() + axis);
  c.output(DType::kI64, PartialShape(std::move(extents)));
  return {};
}

Status infer_cumsum(InferContext& c) {
  if (c.shape(0).has_rank()) {
    auto axis = resolve_axis(c.attr<int64_t>("axis"), c.shape(0).rank());
    if (!axis.ok()) return axis.status();
  }
  return infer::like_input(c);
}

std::vector<Gradient> cumsum_gradient(Node& node,
                                      std::span<const Value> grads) {
  return {cumsum(grads[0], {.axis = node.attrs().get<int64_t>("axis"),
                            .exclusive = node.attrs().get<bool>("exclusive"),
                            .reverse = !node.attrs().get<bool>("reverse")})};
}

Status infer_unique(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "x"));
  const int64_t length = array::length_of(c, 0);
  c.output(c.dtype(0), {kAny});
  c.output(DType::kI64, {length});
  c.output(DType::kI64, {kAny});
  return {};
}

Status infer_where(InferContext& c) {
  const PartialShape& x = c.shape(0);
  c.output(DType::kI64, {kAny, x.has_rank() ? x.rank() : kAny});
  return {};
}

Status infer_permutation(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "x"));
  c.output(c.dtype(0), {array::length_of(c, 0)});
  return {};
}

Status infer_sequence_mask(InferContext& c) {
  const int64_t maxlen = c.attr<int64_t>("maxlen");
  if (maxlen < -1)
    return error(Code::kInvalidArgument,
                 "maxlen is {}, expected 0 or more, or -1 for the largest "
                 "length",
                 maxlen);
  if (!c.shape(0).has_rank()) {
    c.output(c.attr<DType>("dtype"), {});
    return {};
  }
  Ints extents = extents_of(c.shape(0));
  extents.push_back(maxlen);  // kAny where it is not given
  c.output(c.attr<DType>("dtype"), PartialShape(std::move(extents)));
  return {};
}

AttrSpec axis_attr() {
  return {"axis", int64_t{0}, false, "the axis; negative counts from the end"};
}

void add_arg(OpRegistry& ops, std::string_view name, std::string_view doc) {
  ops.add({.name = name,
           .doc = doc,
           .inputs = {{"x", TypeSet::kNumber}},
           .outputs = {"indices"},
           .attrs = {axis_attr()},
           .infer = infer_arg,
           .constant = true,
           .cost = cost::per_input<0, 1>});
}

}  // namespace

void register_searching_ops(OpRegistry& ops) {
  ops.add({.name = "Range",
           .doc = "start, start + delta and so on, up to before limit.",
           .inputs = {{"start", TypeSet::kNumber},
                      {"limit", TypeSet::kNumber},
                      {"delta", TypeSet::kNumber}},
           .outputs = {"y"},
           .infer = infer_range,
           .constant = true,
           .cost = cost::per_output<1>});
  ops.add({.name = "TopK",
           .doc = "The k largest elements along the last axis, and where they "
                  "are (i64). Of equal elements the first come first; NaN "
                  "counts as larger than every number.",
           .inputs = {{"x", TypeSet::kNumber}},
           .outputs = {"values", "indices"},
           .attrs = {{"k", int64_t{1}, true, "how many"},
                     {"sorted", true, false,
                      "the largest first; otherwise in the order of x"}},
           .infer = infer_top_k,
           .gradient = top_k_gradient,
           .cost = cost::per_input<0, 4>});
  add_arg(
      ops, "ArgMax",
      "Where along an axis the largest element is (i64), the first of equal "
      "ones. NaN counts as the largest.");
  add_arg(ops, "ArgMin",
          "Where along an axis the smallest element is (i64), the first of "
          "equal ones. NaN counts as the smallest.");
  ops.add({.name = "CumSum",
           .doc = "The running sum of x along an axis.",
           .inputs = {{"x", TypeSet::kNumber}},
           .outputs = {"y"},
           .attrs = {axis_attr(),
                     {"exclusive", false, false,
                      "sum of the elements before each, without itself"},
                     {"reverse", false, false, "from the end"}},
           .infer = infer_cumsum,
           .gradient = cumsum_gradient,
           .cost = cost::per_output<1>});
  ops.add({.name = "Unique",
           .doc = "The different elements of a vector in the order in which "
                  "they first occur, for every element the index (i64) of its "
                  "equal among them, and how often each occurs (i64).",
           .inputs = {{"x"}},
           .outputs = {"values", "indices", "counts"},
           .infer = infer_unique,
           .constant = true,
           .cost = cost::per_input<0, 10>});
  ops.add({.name = "Where",
           .doc = "The indices of the elements that are true, or not zero, a "
                  "row each: i64 of shape [n, rank].",
           .inputs = {{"condition"}},
           .outputs = {"indices"},
           .infer = infer_where,
           .constant = true,
           .cost = cost::per_input<0, 1>});
  ops.add({.name = "InvertPermutation",
           .doc = "The permutation that takes back what x, a vector with each "
                  "of 0 to n - 1 once, does.",
           .inputs = {{"x", TypeSet::kIndex}},
           .outputs = {"y"},
           .infer = infer_permutation,
           .constant = true,
           .cost = cost::per_output<1>});
  ops.add(
      {.name = "SequenceMask",
       .doc = "For every length a row whose elements before it are true (1) "
              "and the others false (0).",
       .inputs = {{"lengths", TypeSet::kIndex}},
       .outputs = {"mask"},
       .attrs = {{"maxlen", int64_t{-1}, false,
                  "the extent of the rows; -1: the largest length"},
                 {"dtype", DType::kBool, false, "the type of the elements"}},
       .infer = infer_sequence_mask,
       .constant = true,
       .cost = cost::per_output<1>});
}

Value range(Value start, Value limit, Value delta) {
  return make("Range", {start, limit, delta});
}

Value range(Graph& graph, double start, double limit, double delta,
            DType dtype) {
  return range(constant(graph, start, dtype), constant(graph, limit, dtype),
               constant(graph, delta, dtype));
}

TopKValues top_k(Value x, int64_t k, bool sorted) {
  Node& node = *make("TopK", {x}, {{"k", k}, {"sorted", sorted}}).node;
  return {node.output(0), node.output(1)};
}

Value argmax(Value x, int64_t axis) {
  return make("ArgMax", {x}, {{"axis", axis}});
}
Value argmin(Value x, int64_t axis) {
  return make("ArgMin", {x}, {{"axis", axis}});
}

Value cumsum(Value x, const CumSumOptions& options) {
  return make("CumSum", {x},
              {{"axis", options.axis},
               {"exclusive", options.exclusive},
               {"reverse", options.reverse}});
}

UniqueValues unique(Value x) {
  Node& node = *make("Unique", {x}).node;
  return {node.output(0), node.output(1), node.output(2)};
}

Value where(Value condition) { return make("Where", {condition}); }
Value invert_permutation(Value x) { return make("InvertPermutation", {x}); }
Value sequence_mask(Value lengths, int64_t maxlen, DType dtype) {
  return make("SequenceMask", {lengths},
              {{"maxlen", maxlen}, {"dtype", dtype}});
}

}  // namespace rondo
