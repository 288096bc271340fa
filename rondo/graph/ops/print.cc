#include "rondo/graph/ops/print.h"

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

using Texts = std::vector<std::string>;

// The texts go before, between and behind the tensors; missing ones are empty.
Status check_texts(InferContext& c, int data) {
  const auto texts = static_cast<int>(c.attr<Texts>("texts").size());
  if (texts <= data + 1) return {};
  return error(Code::kInvalidArgument,
               "there are {} texts for {} tensors, {} "
               "more than go around them",
               texts, data, texts - data - 1);
}

Status infer_line(InferContext& c) {
  const auto& stream = c.attr<std::string>("output_stream");
  if (stream != "stderr" && stream != "stdout")
    return error(Code::kInvalidArgument,
                 "output_stream is \"{}\", expected \"stderr\" or \"stdout\"",
                 stream);
  return check_texts(c, c.inputs());
}

Status infer_print(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_texts(c, c.inputs() - 1));
  return infer::like_input(c);
}

Status infer_assert(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "condition"));
  return check_texts(c, c.inputs() - 1);
}

std::vector<Gradient> print_gradient(Node& node, std::span<const Value> grads) {
  std::vector<Gradient> back(node.inputs().size());
  back[0] = grads[0];
  return back;
}

AttrSpec summarize_spec() {
  return {"summarize", int64_t{3}, false,
          "so many elements of each tensor; -1: all"};
}

AttrSpec texts_spec() {
  return {"texts", Texts(), false,
          "what is said before, between and behind the tensors"};
}

}  // namespace

void register_print_ops(OpRegistry& ops) {
  ops.add({.name = "Print",
           .doc = "The input, which when it is computed prints the data on "
                  "standard error.",
           .inputs = {{"input"}, {"data", TypeSet::kAnyType, true, 0}},
           .outputs = {"output"},
           .attrs = {{"message", std::string(), false, "before the data"},
                     {"first_n", int64_t{-1}, false,
                      "only so many times per session; -1: every time"},
                     texts_spec(),
                     summarize_spec()},
           .infer = infer_print,
           .gradient = print_gradient,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "PrintLine",
           .doc = "Prints texts and tensors.",
           .inputs = {{"data", TypeSet::kAnyType, true, 0}},
           .attrs = {texts_spec(),
                     {"output_stream", std::string("stderr"), false,
                      "\"stderr\" or \"stdout\""},
                     summarize_spec()},
           .infer = infer_line,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "Assert",
           .doc = "Fails the run unless the condition holds; the error has the "
                  "texts and the data.",
           .inputs = {{"condition", TypeSet::kBoolean, false, 0},
                      {"data", TypeSet::kAnyType, true, 0}},
           .attrs = {texts_spec(), summarize_spec()},
           .infer = infer_assert,
           .cost = cost::none,
           .kind = OpKind::kStateful});
}

Value print(Value x, const std::vector<Value>& data, PrintOptions options) {
  std::vector<Value> inputs = {x};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return make("Print", std::move(inputs),
              {{"message", std::move(options.message)},
               {"first_n", options.first_n},
               {"summarize", options.summarize}});
}

Node& assert_that(Value condition, const std::vector<Value>& data,
                  AssertOptions options) {
  if (!condition)
    throw Error(Code::kInvalidArgument, "assert_that: its condition is none");
  std::vector<Value> inputs = {condition};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return condition.graph().add(
      {.op = "Assert",
       .inputs = std::move(inputs),
       .attrs = {{"texts", Texts{std::move(options.message)}},
                 {"summarize", options.summarize}}});
}

}  // namespace rondo
