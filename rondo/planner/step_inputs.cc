#include "rondo/planner/step_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

double usual_number(DType dtype) {
  if (contains(TypeSet::kFloat, dtype)) return 0.1;
  return dtype == DType::kBool ? 1 : 0;
}

// Whether an element of this type can be the number.
bool can_be(DType dtype, double number) {
  if (!std::isfinite(number)) return false;
  constexpr double kMostF16 = 65504;
  if (dtype == DType::kF16) return std::abs(number) <= kMostF16;
  if (contains(TypeSet::kFloat, dtype))
    return dtype == DType::kF64 ||
           std::abs(number) <= std::numeric_limits<float>::max();
  if (number != std::floor(number)) return false;
  if (dtype == DType::kBool) return number == 0 || number == 1;
  const int bits = 8 * static_cast<int>(size_of(dtype));
  if (dtype == DType::kU8) return number >= 0 && number < std::ldexp(1, bits);
  return number >= -std::ldexp(1, bits - 1) && number < std::ldexp(1, bits - 1);
}

// By the number of the node and of its output.
std::map<std::pair<int, int>, Value> inputs_of(
    const std::vector<const Node*>& targets) {
  std::map<std::pair<int, int>, Value> inputs;
  for (const Node* target : targets)
    for (const Node* node : needed_by(*target))
      for (const Value& value : node->inputs())
        if (is_input(*value.node))
          inputs[{value.node->id(), value.index}] = value;
  return inputs;
}

}  // namespace

std::string StepInputs::Input::text() const {
  return fmt::format("{} {} = {:g}", value.name(), shape.to_string(), number);
}

Result<StepInputs> StepInputs::of(const std::vector<const Node*>& targets,
                                  int64_t batch,
                                  const std::vector<std::string>& feeds) {
  StepInputs made;
  for (const auto& [key, value] : inputs_of(targets))
    made.inputs_.push_back(
        {value, with_batch(value.shape(), batch), usual_number(value.dtype())});
  for (const std::string& feed : feeds) RONDO_RETURN_IF_ERROR(made.set(feed));
  RONDO_RETURN_IF_ERROR(made.check());
  return made;
}

Status StepInputs::set(const std::string& feed) {
  const size_t equals = feed.rfind('=');
  const std::string name = feed.substr(0, equals);
  const std::string text =
      equals == std::string::npos ? "" : feed.substr(equals + 1);
  const auto input = std::ranges::find_if(
      inputs_, [&](const Input& one) { return one.value.name() == name; });
  if (input == inputs_.end())
    return error(Code::kInvalidArgument,
                 "--feed {}: the step has no input of that name; it {}", feed,
                 inputs_.empty() ? "takes none" : "runs " + this->text());
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (text.empty() || failed != std::errc() || rest != end)
    return error(Code::kInvalidArgument,
                 "--feed {}: give a number, such as {}=1", feed, name);
  const DType dtype = input->value.dtype();
  if (!can_be(dtype, number))
    return error(Code::kInvalidArgument,
                 "--feed {}: no {} is {}; give another number, such as {}=1",
                 feed, name_of(dtype), text, name);
  input->number = number;
  if (!input->shape.has_rank()) input->shape = PartialShape::scalar();
  return {};
}

Status StepInputs::check() const {
  for (const Input& input : inputs_)
    if (!input.shape.has_rank())
      return error(Code::kInvalidArgument,
                   "a step cannot be measured: {} has no rank; say its shape "
                   "in the program, with None for what is open, or, if it is a "
                   "scalar, --feed {}=1; or give the time of a step, such as "
                   "--step-time 0.55",
                   input.value.node->describe(), input.value.name());
  return {};
}

Result<std::vector<Feed>> StepInputs::tensors(Session& session) const {
  std::vector<Feed> feeds;
  for (const Input& input : inputs_) {
    RONDO_ASSIGN_OR_RETURN(
        Tensor tensor,
        session.run(fill(input.value.graph(), input.shape.to_shape(),
                         input.number, input.value.dtype())));
    feeds.push_back({input.value, std::move(tensor)});
  }
  return feeds;
}

std::string StepInputs::text() const {
  std::string text;
  for (const Input& input : inputs_)
    text += fmt::format("{} {}", text.empty() ? "with" : ",", input.text());
  return text.empty() ? "which takes no input" : text;
}

}  // namespace rondo
