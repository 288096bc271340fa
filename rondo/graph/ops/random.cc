#include "rondo/graph/ops/random.h"

#include <cmath>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

// The seed that stands for a graph without one where a node has its own.
constexpr int64_t kNoGraphSeed = 0x526F6E646F;

Result<PartialShape> wanted_shape(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "shape"));
  if (const auto ints = c.constant_ints(0)) {
    for (const int64_t extent : *ints)
      if (extent < kAny)
        return error(Code::kInvalidArgument, "an extent of the shape is {}",
                     extent);
    return PartialShape(*ints);
  }
  const PartialShape& shape = c.shape(0);
  if (shape.has_rank() && shape[0] != kAny)
    return PartialShape::of_rank(static_cast<int>(shape[0]));
  return PartialShape();
}

Status infer_real(InferContext& c) {
  const DType dtype = c.attr<DType>("dtype");
  if (!contains(TypeSet::kFloat, dtype))
    return error(Code::kInvalidArgument,
                 "dtype is {}, expected a floating-point type", name_of(dtype));
  RONDO_ASSIGN_OR_RETURN(PartialShape shape, wanted_shape(c));
  c.output(dtype, std::move(shape));
  return {};
}

Status infer_uniform(InferContext& c) {
  const double minval = c.attr<double>("minval");
  const double maxval = c.attr<double>("maxval");
  if (!(minval <= maxval) || !std::isfinite(maxval - minval))
    return error(Code::kInvalidArgument,
                 "minval is {} and maxval {}: expected finite numbers, the "
                 "smaller one first",
                 minval, maxval);
  return infer_real(c);
}

Status infer_integer(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "minval"));
  RONDO_RETURN_IF_ERROR(c.want_scalar(2, "maxval"));
  RONDO_ASSIGN_OR_RETURN(PartialShape shape, wanted_shape(c));
  c.output(c.dtype(1), std::move(shape));
  return {};
}

Status infer_multinomial(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 2, "logits"));
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "num_samples"));
  const DType dtype = c.attr<DType>("output_dtype");
  if (!contains(TypeSet::kIndex, dtype))
    return error(Code::kInvalidArgument, "output_dtype is {}, expected {}",
                 name_of(dtype), name_of(TypeSet::kIndex));
  const auto samples = c.constant_ints(1);
  if (samples && samples->size() == 1 && (*samples)[0] < 0 &&
      c.at(1).node->op().name == "Const")
    return error(Code::kInvalidArgument, "num_samples is {}", (*samples)[0]);
  c.output(dtype, {c.shape(0).has_rank() ? c.shape(0)[0] : kAny,
                   samples && samples->size() == 1 ? (*samples)[0] : kAny});
  return {};
}

std::vector<AttrSpec> with_seeds(std::vector<AttrSpec> attrs) {
  attrs.push_back({"seed", int64_t{0}, false,
                   "with seed2, which sequence of numbers; both 0: another "
                   "one in every session"});
  attrs.push_back({"seed2", int64_t{0}, false, "see seed"});
  return attrs;
}

void add_real(OpRegistry& ops, std::string_view name, std::string_view doc,
              AttrSpec first, AttrSpec second, InferFn infer, CostFn cost) {
  ops.add({.name = name,
           .doc = doc,
           .inputs = {{"shape", TypeSet::kIndex}},
           .outputs = {"output"},
           .attrs = with_seeds(
               {{"dtype", DType::kF32, false, "f64, f32, f16 or bf16"},
                std::move(first),
                std::move(second)}),
           .infer = infer,
           .constant = true,
           .cost = cost,
           .kind = OpKind::kStateful});
}

void set_seeds(const Graph& graph, int64_t seed, Attrs& attrs) {
  const RandomSeeds seeds = random_seeds(graph, seed);
  attrs.set("seed", seeds.seed);
  attrs.set("seed2", seeds.seed2);
}

Value make_random(std::string_view op, std::vector<Value> inputs, Attrs attrs,
                  int64_t seed, std::string name) {
  if (inputs.empty() || !inputs[0])
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: its first input is no value", op));
  set_seeds(inputs[0].graph(), seed, attrs);
  return make(op, std::move(inputs), std::move(attrs), std::move(name));
}

Value make_real(std::string_view op, Value shape, Attrs attrs,
                RandomOptions options) {
  attrs.set("dtype", options.dtype);
  return make_random(op, {shape}, std::move(attrs), options.seed,
                     std::move(options.name));
}

Value shape_constant(Graph& graph, const Shape& shape) {
  return constant_ints(graph,
                       Ints(shape.extents().begin(), shape.extents().end()));
}

}  // namespace

void register_random_ops(OpRegistry& ops) {
  add_real(ops, "RandomUniform",
           "A tensor of this shape of random numbers, each of [minval, maxval) "
           "with equal probability.",
           {"minval", 0.0, false, "the least number"},
           {"maxval", 1.0, false, "what all numbers are below"}, infer_uniform,
           cost::per_output<cost::kRandom>);
  add_real(ops, "RandomNormal",
           "A tensor of this shape of random numbers from a normal "
           "distribution.",
           {"mean", 0.0, false, "the distribution's mean"},
           {"stddev", 1.0, false, "its standard deviation"}, infer_real,
           cost::per_output<cost::kRandom + 2 * cost::kFunction>);
  add_real(ops, "TruncatedNormal",
           "A tensor of this shape of random numbers from a normal "
           "distribution, of which nothing is taken that is further than two "
           "standard deviations from the mean.",
           {"mean", 0.0, false, "the mean"},
           {"stddev", 1.0, false,
            "the standard deviation of the distribution before it is cut"},
           infer_real, cost::per_output<cost::kRandom + 2 * cost::kFunction>);
  ops.add({.name = "RandomUniformInt",
           .doc = "A tensor of this shape of random integers, each of [minval, "
                  "maxval) with equal probability.",
           .inputs = {{"shape", TypeSet::kIndex, false, 0},
                      {"minval", TypeSet::kIndex},
                      {"maxval", TypeSet::kIndex}},
           .outputs = {"output"},
           .attrs = with_seeds({}),
           .infer = infer_integer,
           .constant = true,
           .cost = cost::per_output<cost::kRandom>,
           .kind = OpKind::kStateful});
  ops.add({.name = "RandomShuffle",
           .doc = "The rows of x, which are its slices along the first axis, "
                  "in random order; every order has equal probability.",
           .inputs = {{"x"}},
           .outputs = {"output"},
           .attrs = with_seeds({}),
           .infer = infer::like_input,
           .cost = cost::moved,
           .kind = OpKind::kStateful});
  ops.add({.name = "Multinomial",
           .doc = "For each row of logits [batch, classes], num_samples "
                  "classes (a scalar), each drawn with probability "
                  "softmax(row), independently: [batch, num_samples].",
           .inputs = {{"logits", TypeSet::kFloat, false, 0},
                      {"num_samples", TypeSet::kIndex, false, 0}},
           .outputs = {"output"},
           .attrs =
               with_seeds({{"output_dtype", DType::kI64, false, "i32 or i64"}}),
           .infer = infer_multinomial,
           .constant = true,
           .cost = cost::per_input<0, cost::kFunction + 2>,
           .kind = OpKind::kStateful});
}

RandomSeeds random_seeds(const Graph& graph, int64_t seed) {
  if (seed != 0) return {graph.seed() != 0 ? graph.seed() : kNoGraphSeed, seed};
  if (graph.seed() == 0) return {};
  return {graph.seed(), static_cast<int64_t>(graph.nodes().size()) + 1};
}

Value random_uniform(Value shape, double minval, double maxval,
                     RandomOptions options) {
  return make_real("RandomUniform", shape,
                   {{"minval", minval}, {"maxval", maxval}},
                   std::move(options));
}
Value random_uniform(Graph& graph, const Shape& shape, double minval,
                     double maxval, RandomOptions options) {
  return random_uniform(shape_constant(graph, shape), minval, maxval,
                        std::move(options));
}

Value random_uniform_int(Value shape, Value minval, Value maxval,
                         RandomOptions options) {
  return make_random("RandomUniformInt", {shape, minval, maxval}, {},
                     options.seed, std::move(options.name));
}

Value random_normal(Value shape, double mean, double stddev,
                    RandomOptions options) {
  return make_real("RandomNormal", shape, {{"mean", mean}, {"stddev", stddev}},
                   std::move(options));
}
Value random_normal(Graph& graph, const Shape& shape, double mean,
                    double stddev, RandomOptions options) {
  return random_normal(shape_constant(graph, shape), mean, stddev,
                       std::move(options));
}

Value truncated_normal(Value shape, double mean, double stddev,
                       RandomOptions options) {
  return make_real("TruncatedNormal", shape,
                   {{"mean", mean}, {"stddev", stddev}}, std::move(options));
}
Value truncated_normal(Graph& graph, const Shape& shape, double mean,
                       double stddev, RandomOptions options) {
  return truncated_normal(shape_constant(graph, shape), mean, stddev,
                          std::move(options));
}

Value random_shuffle(Value x, int64_t seed, std::string name) {
  return make_random("RandomShuffle", {x}, {}, seed, std::move(name));
}

Value multinomial(Value logits, Value num_samples, int64_t seed,
                  std::string name) {
  return make_random("Multinomial", {logits, num_samples}, {}, seed,
                     std::move(name));
}
Value multinomial(Value logits, int64_t num_samples, int64_t seed,
                  std::string name) {
  return multinomial(
      logits,
      constant(logits.graph(), static_cast<double>(num_samples), DType::kI64),
      seed, std::move(name));
}

}  // namespace rondo
