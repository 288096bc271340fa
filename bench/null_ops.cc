// How many operations that do nothing the executor runs in a second, on one
// core:
//
//   null_ops [--json FILE]
//
// "kernels" pass a scalar through a kernel that hands its input on; "control"
// nodes only wait for each other. The peer is the figure of the TensorFlow
// paper (OSDI 2016): about 2 million null operations a second.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/graph.h"
#include "rondo/graph/op_registry.h"
#include "rondo/kernels/kernel_registry.h"

namespace {

using namespace rondo;

constexpr int kNodes = 10'000;
constexpr double kPeer = 2e6;

// Four chains side by side, so that there is always something ready.
double kernels_per_second() {
  OpRegistry::process().add({.name = "Null",
                             .doc = "Its input.",
                             .inputs = {{"x"}},
                             .outputs = {"y"},
                             .infer =
                                 [](InferContext& c) {
                                   c.output(c.dtype(0), c.shape(0));
                                   return Status();
                                 },
                             .kind = OpKind::kStateful});
  KernelRegistry::process().add(
      "Null", "cpu", from_function([](const Node&, KernelContext& c) {
        c.set_output(0, c.input(0));
        return Status();
      }));
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF32, .shape = {1}});
  std::vector<Value> ends(4, x);
  for (int i = 0; i < kNodes; ++i) {
    Value& end = ends[static_cast<size_t>(i % 4)];
    end = make("Null", {end});
  }
  Session session(g, {.inter_op_threads = 1, .intra_op_threads = 1});
  const std::vector<Feed> feeds{{x, Tensor::zeros({1})}};
  std::vector<double> rates;
  for (int i = 0; i < 30; ++i) {
    const auto start = Clock::now();
    session.run(ends, feeds).value();
    rates.push_back(kNodes / to_seconds(Clock::now() - start));
  }
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

double controls_per_second() {
  Graph g;
  std::vector<Node*> ends;
  for (int i = 0; i < 4; ++i) ends.push_back(&group(g, {}));
  for (int i = 0; i < kNodes; ++i) {
    Node*& end = ends[static_cast<size_t>(i % 4)];
    end = &group(g, {end});
  }
  Session session(g, {.inter_op_threads = 1, .intra_op_threads = 1});
  std::vector<double> rates;
  for (int i = 0; i < 30; ++i) {
    const auto start = Clock::now();
    session.run({}, {}, ends).value();
    rates.push_back(kNodes / to_seconds(Clock::now() - start));
  }
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
  std::string rows;
  for (const auto& [name, rate] :
       {std::pair("kernels", kernels_per_second()),
        std::pair("control", controls_per_second())}) {
    fmt::print("{:<8} {:>12.0f} null operations/s, {:.2f} of the paper's\n",
               name, rate, rate / kPeer);
    rows += fmt::format(
        "{}{{\"case\": \"null operations, {}\", \"rondo\": {:.0f}, \"peer\": "
        "\"TensorFlow, OSDI 2016\", \"peer_value\": {:.0f}, \"unit\": "
        "\"operations/s\", \"ratio\": {:.3f}}}",
        rows.empty() ? "" : ",\n ", name, rate, kPeer, rate / kPeer);
  }
  if (json.empty()) return 0;
  std::FILE* file = std::fopen(json.c_str(), "w");
  if (!file) {
    fmt::print(stderr, "null_ops: cannot write {}\n", json);
    return 1;
  }
  fmt::print(file, "[{}]\n", rows);
  std::fclose(file);
  return 0;
}
