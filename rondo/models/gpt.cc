#include "rondo/models/gpt.h"

#include <fmt/format.h>

#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"

namespace rondo::models {
namespace {

constexpr double kStddev = 0.02;  // of weights at first

}  // namespace

GPT::GPT(GPTOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {
  if (options_.heads <= 0 || options_.width % options_.heads != 0)
    throw Error(Code::kInvalidArgument,
                fmt::format("GPT: width {} must be a multiple of heads, {}",
                            options_.width, options_.heads));
}

Value GPT::operator()(Value tokens, bool training) {
  const int64_t places = known_extent(tokens, 1, "GPT");
  if (places > options_.places)
    throw Error(Code::kInvalidArgument,
                fmt::format("GPT: tokens of shape {}: the second axis must not "
                            "be above {}",
                            tokens.shape().to_string(), options_.places));
  Graph& graph = tokens.graph();
  const Value words = layers_.get(
      graph, "words", {options_.vocabulary, options_.width}, normal(kStddev));
  const Value where = layers_.get(
      graph, "places", {options_.places, options_.width}, normal(kStddev));
  Value x = embedding_lookup(words, tokens) + rows(where, 0, places);
  // One row per token, whatever the batch, but for attention.
  x = reshape(drop(x, training), Ints{-1, options_.width});
  for (int i = 1; i <= options_.layers; ++i)
    x = block(x, fmt::format("block{}", i), places, training);
  x = layers_.layer_norm(x, "norm");
  const Value logits = layers_.product(x, words, true);
  return reshape(logits, Ints{-1, places, options_.vocabulary});
}

Value GPT::block(Value x, const std::string& name, int64_t places,
                 bool training) {
  Value y = attention(layers_.layer_norm(x, name + "/norm1"), name, places);
  x = x + drop(y, training);
  y = dense(layers_.layer_norm(x, name + "/norm2"), name + "/up",
            4 * options_.width);
  y = dense(gelu(y, true), name + "/down", options_.width);
  return x + drop(y, training);
}

Value GPT::attention(Value x, const std::string& name, int64_t places) {
  const int64_t depth = options_.width / options_.heads;
  x = dense(x, name + "/query_key_value", 3 * options_.width);
  x = reshape(x, Ints{-1, places, 3, options_.heads, depth});
  const std::vector<Value> parts = unstack(transpose(x, {2, 0, 3, 1, 4}));
  x = scaled_dot_product_attention(parts[0], parts[1], parts[2],
                                   {.causal = true});
  x = reshape(transpose(x, {0, 2, 1, 3}), Ints{-1, options_.width});
  return dense(x, name + "/projection", options_.width);
}

Value GPT::dense(Value x, const std::string& name, int64_t units) {
  return layers_.dense(x, name, units, normal(kStddev));
}

Value GPT::drop(Value x, bool training) const {
  return training && options_.dropout > 0
             ? dropout(x, {.rate = options_.dropout})
             : x;
}

}  // namespace rondo::models
