// Random numbers from a counter-based generator: the same seed gives the same
// numbers on any number of threads.
//
// Each run of a node gives new numbers: the session counts a node's runs under
// the node's name. A node without a seed takes it from the graph's seed and its
// place in the graph; when the graph has none either, its numbers differ from
// session to session.
#pragma once

#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

struct RandomOptions {
  DType dtype = DType::kF32;
  int64_t seed = 0;  // 0: none of its own
  std::string name = {};
};

// What a random operation has as its attributes "seed" and "seed2".
struct RandomSeeds {
  int64_t seed = 0;
  int64_t seed2 = 0;
};
// For the node that is made next, with this seed of its own.
RONDO_API RandomSeeds random_seeds(const Graph& graph, int64_t seed);

// Of [minval, maxval). `shape` is a vector of i32 or i64.
RONDO_API Value random_uniform(Value shape, double minval = 0,
                               double maxval = 1, RandomOptions options = {});
RONDO_API Value random_uniform(Graph& graph, const Shape& shape,
                               double minval = 0, double maxval = 1,
                               RandomOptions options = {});
// Integers of [minval, maxval), of the type of these scalars: i32 or i64. The
// options' dtype does not count.
RONDO_API Value random_uniform_int(Value shape, Value minval, Value maxval,
                                   RandomOptions options = {});
RONDO_API Value random_normal(Value shape, double mean = 0, double stddev = 1,
                              RandomOptions options = {});
RONDO_API Value random_normal(Graph& graph, const Shape& shape, double mean = 0,
                              double stddev = 1, RandomOptions options = {});
// The normal distribution within two standard deviations of its mean.
RONDO_API Value truncated_normal(Value shape, double mean = 0,
                                 double stddev = 1, RandomOptions options = {});
RONDO_API Value truncated_normal(Graph& graph, const Shape& shape,
                                 double mean = 0, double stddev = 1,
                                 RandomOptions options = {});
// The rows of x (the slices along its first axis) in random order.
RONDO_API Value random_shuffle(Value x, int64_t seed = 0,
                               std::string name = {});
// For each row of logits [batch, classes], num_samples classes, each drawn with
// probability softmax(row): i64 [batch, num_samples].
RONDO_API Value multinomial(Value logits, Value num_samples, int64_t seed = 0,
                            std::string name = {});
RONDO_API Value multinomial(Value logits, int64_t num_samples, int64_t seed = 0,
                            std::string name = {});

}  // namespace rondo
