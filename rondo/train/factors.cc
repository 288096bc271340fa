#include "rondo/train/factors.h"

#include <algorithm>
#include <utility>

#include "rondo/base/units.h"
#include "rondo/graph/ops/matrix.h"

namespace rondo {
namespace {

constexpr double kMostRows = 1e12;

bool is_product(const Node& node) {
  return node.op().name == "MatMul" && node.attrs().get<bool>("transpose_a") &&
         !node.attrs().get<bool>("transpose_b");
}

// A cast, where the product is computed in bf16, only rounds.
bool hands_on(const Node& node) {
  const std::string_view op = node.op().name;
  return op == "Identity" || op == "Reshape" || op == "Cast";
}

int64_t columns_of(const Value& matrix) {
  const PartialShape& shape = matrix.shape();
  return shape.has_rank() && shape.rank() == 2 ? shape[1] : kAny;
}

}  // namespace

Result<FactorUse> parse_factor_use(std::string_view text) {
  for (const auto& [name, use] :
       {std::pair("auto", FactorUse::kAuto), std::pair("on", FactorUse::kOn),
        std::pair("off", FactorUse::kOff)})
    if (text == name) return use;
  return error(Code::kInvalidArgument,
               "factors is \"{}\"; expected auto, on or off", text);
}

Status read_factor_options(const Env& env, FactorOptions& options) {
  const auto use = env.get("RONDO_FACTORS");
  if (use && options.use == FactorUse::kAuto) {
    const Result<FactorUse> found = parse_factor_use(*use);
    if (!found.ok()) return found.status().with_context("RONDO_FACTORS");
    options.use = *found;
  }
  const auto read = [&env](const char* name, auto parse, double& number) {
    const auto text = env.get(name);
    if (number > 0 || !text) return Status();
    const Result<double> found = parse(*text);
    if (!found.ok()) return found.status().with_context(name);
    number = *found;
    return Status();
  };
  RONDO_RETURN_IF_ERROR(read("RONDO_LINK", parse_rate, options.link_rate));
  RONDO_RETURN_IF_ERROR(read("RONDO_FLOPS", parse_number, options.flop_rate));
  auto rows = static_cast<double>(options.rows);
  const auto parse_rows = [](std::string_view text) {
    return parse_count(text, kMostRows, "32 or 1k");
  };
  RONDO_RETURN_IF_ERROR(read("RONDO_FACTOR_ROWS", parse_rows, rows));
  options.rows = static_cast<int64_t>(rows);
  return {};
}

std::optional<Factors> factors_of(Value gradient) {
  Factors factors;
  Node* node = gradient.node;
  for (; !is_product(*node); node = node->input(0).node) {
    if (!hands_on(*node)) return std::nullopt;
    factors.way.push_back(node);
  }
  std::ranges::reverse(factors.way);
  factors.left = node->input(0);
  factors.right = node->input(1);
  // Those of known width can be compared with the product.
  if (columns_of(factors.left) == kAny || columns_of(factors.right) == kAny)
    return std::nullopt;
  return factors;
}

Value product_of(const Factors& factors) {
  Value value = matmul(factors.left, factors.right, {.transpose_a = true});
  for (const Node* node : factors.way) {
    std::vector<Value> inputs = node->inputs();
    inputs[0] = value;
    value = value.graph()
                .add({.op = node->op().name,
                      .inputs = std::move(inputs),
                      .attrs = node->attrs(),
                      .control_inputs = node->control_inputs()})
                .output();
  }
  return value;
}

int64_t rows_of(const Factors& factors, const FactorOptions& options) {
  for (const Value& factor : {factors.left, factors.right})
    if (factor.shape()[0] != kAny) return factor.shape()[0];
  return options.rows > 0 ? options.rows : kAny;
}

bool factors_pay(const Factors& factors, const ElementSizes& wire, int ranks,
                 const FactorOptions& options, const ServerShare& server_share,
                 int64_t least_rows) {
  const int64_t known = rows_of(factors, options);
  if (known == kAny) return false;
  const auto left = static_cast<double>(columns_of(factors.left));
  const auto right = static_cast<double>(columns_of(factors.right));
  const double others =
      static_cast<double>(std::max(known, least_rows)) * (ranks - 1);
  // Bytes that a rank sends.
  const double whole = left * right * static_cast<double>(wire.gradient);
  const double reduced = sent_share(ranks, server_share.of(whole)) * whole;
  const double gathered =
      others * (left + right) * static_cast<double>(wire.factor);
  const double link = options.link_rate > 0 ? options.link_rate : kNetworkRate;
  const double flops = options.flop_rate > 0 ? options.flop_rate : kFlopRate;
  // And the product of what it gets.
  return (reduced - gathered) / link > 2 * others * left * right / flops;
}

}  // namespace rondo
