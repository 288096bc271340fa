// How good placements are: against all that there are, on small graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "rondo/graph/placement/problem.h"
#include "rondo/graph/placement/simulator.h"
#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

// Up to 8 nodes; edges from a few of those before; times of 0.1 to 10 ms and
// transfers from far less than that to more.
std::unique_ptr<TimedGraph> random_graph(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  auto graph = std::make_unique<TimedGraph>();
  std::vector<Node*> nodes;
  const size_t count = 4 + random() % 5;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Node*> inputs;
    for (size_t k = 0; i > 0 && k < random() % 3; ++k) {
      Node* input = nodes[random() % i];
      if (std::ranges::find(inputs, input) == inputs.end())
        inputs.push_back(input);
    }
    // One after the other, or each compiler would have graphs of its own.
    const double bytes = std::pow(10.0, uniform(3, 7));
    const double seconds = std::pow(10.0, uniform(-4, -2));
    nodes.push_back(&graph->add(fmt::format("n{}", i), inputs, seconds, bytes));
  }
  return graph;
}

DeviceLink random_link(uint64_t seed) {
  constexpr double kSpeeds[] = {1e8, 1e9, 1e10};
  return {.latency = 1e-5, .bytes_per_s = kSpeeds[seed % 3]};
}

double best_of_all(const Graph& g, const PlacementRequest& request) {
  const NodeOrder order = order_nodes(g).value();
  Colocation together(g, order);
  const Candidates candidates = find_candidates(g, request, together).value();
  const PlacementProblem problem = make_problem(g, request, order, candidates);
  Simulator simulator(problem);
  double best = 1e9;
  const size_t groups = problem.groups.size();
  for (size_t bits = 0; bits < size_t{1} << groups; ++bits) {
    Assignment assignment;
    for (size_t i = 0; i < groups; ++i)
      assignment.push_back(static_cast<int>(bits >> i & 1));
    best = std::min(best, simulator.run(assignment).seconds);
  }
  return best;
}

TEST(PlacementQuality, IsTheBestOfAllWhereAllCanBeTried) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto graph = random_graph(seed);
    const auto request = graph->request(2, random_link(seed));
    const Placement placed = place(graph->g, request).value();
    EXPECT_LE(placed.step_seconds, best_of_all(graph->g, request) * 1.000001)
        << "seed " << seed;
    EXPECT_LE(placed.step_seconds, placed.one_device_seconds);
  }
}

// With too few simulations to try all, so that the search has to find it.
TEST(PlacementQuality, SearchComesWithinATenthOfTheBest) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const auto graph = random_graph(seed);
    auto request = graph->request(2, random_link(seed));
    const size_t all = size_t{1} << graph->g.nodes().size();
    request.budget.evaluations = std::min<int>(static_cast<int>(all) - 1, 100);
    const Placement placed = place(graph->g, request).value();
    EXPECT_LE(placed.step_seconds, best_of_all(graph->g, request) * 1.1)
        << "seed " << seed;
    EXPECT_LE(placed.step_seconds, placed.one_device_seconds);
  }
}

TEST(PlacementQuality, NeverWorseThanOneDeviceWithoutAnySearch) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const auto graph = random_graph(seed);
    auto request = graph->request(3, random_link(seed));
    request.budget.evaluations = 0;
    const Placement placed = place(graph->g, request).value();
    double sum = 0;
    for (const auto& node : graph->g.nodes())
      sum += graph->costs.seconds(*node, request.devices)[0];
    EXPECT_NEAR(placed.one_device_seconds, sum, 1e-9);
    EXPECT_LE(placed.step_seconds, placed.one_device_seconds);
  }
}

TEST(PlacementQuality, TheSameEveryTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto graph = random_graph(seed);
    auto request = graph->request(3, random_link(seed));
    request.budget.evaluations = 50;
    const std::string once = explain(place(graph->g, request).value());
    EXPECT_EQ(explain(place(graph->g, request).value()), once);
  }
}

// source → two branches → sum.
struct Diamond : TimedGraph {
  explicit Diamond(double branch_seconds, double bytes = 1e6) {
    source = &add("source", {}, 1e-5, bytes);
    left = &add("left", {source}, branch_seconds, bytes);
    right = &add("right", {source}, branch_seconds, bytes);
    sum = &add("sum", {left, right}, 1e-5, bytes);
  }
  Node *source, *left, *right, *sum;
};

TEST(PlacementQuality, ExpensiveBranchesAreSplit) {
  Diamond d(1e-2);
  const Placement placed =
      place(d.g, d.request(2, {.latency = 1e-5, .bytes_per_s = 1e10})).value();
  EXPECT_NE(placed.device_of(*d.left), placed.device_of(*d.right));
  // The ends, one branch's time, and 0.11 ms for the source to the far branch,
  // beside which the sum is: the near one's result travels meanwhile.
  EXPECT_NEAR(placed.step_seconds, 1e-5 + 1.1e-4 + 1e-2 + 1e-5, 1e-9);
  EXPECT_NEAR(placed.one_device_seconds, 2e-2 + 2e-5, 1e-9);
}

TEST(PlacementQuality, CheapBranchesStayTogether) {
  Diamond d(1e-4);
  const Placement placed =
      place(d.g, d.request(2, {.latency = 1e-5, .bytes_per_s = 1e10})).value();
  EXPECT_EQ(placed.device_of(*d.left), placed.device_of(*d.right));
  EXPECT_TRUE(placed.links.empty());
}

TEST(PlacementQuality, ASlowLinkKeepsThemTogether) {
  Diamond d(1e-2);
  const Placement placed =
      place(d.g, d.request(2, {.latency = 1e-5, .bytes_per_s = 1e8})).value();
  EXPECT_EQ(placed.device_of(*d.left), placed.device_of(*d.right));
}

TEST(PlacementQuality, TheFasterDeviceGetsTheWork) {
  Diamond d(1e-2);
  auto request = d.request(2, {.latency = 1e-5, .bytes_per_s = 1e10});
  for (const auto& node : d.g.nodes())
    d.costs.record_run(node->name(), cpu(1), 1e-6);
  const Placement placed = place(d.g, request).value();
  for (const auto& node : d.g.nodes())
    EXPECT_EQ(placed.device_of(*node), cpu(1)) << node->name();
}

// Towers of 60 nodes: too many placements to try, and cut only at their ends.
TEST(PlacementQuality, LongTowersAreKeptWhole) {
  TimedGraph t;
  Node& source = t.add("source", {}, 1e-5, 1e5);
  std::vector<Node*> ends;
  std::vector<std::vector<Node*>> towers(4);
  for (size_t tower = 0; tower < towers.size(); ++tower) {
    Node* last = &source;
    for (int i = 0; i < 60; ++i)
      towers[tower].push_back(
          last = &t.add(fmt::format("t{}_{}", tower, i), {last}, 1e-4, 1e5));
    ends.push_back(last);
  }
  t.add("sum", ends, 1e-5);
  const Placement placed =
      place(t.g, t.request(4, {.latency = 1e-5, .bytes_per_s = 1e9})).value();
  // A tower's time, and there and back 0.11 ms.
  const double ideal = 60e-4 + 2 * 1.1e-4 + 2e-5;
  EXPECT_LE(placed.step_seconds, ideal * 1.1);
}

TEST(PlacementQuality, VariablesThatDoNotFitAreSpread) {
  TimedGraph t;
  std::vector<Node*> nodes;
  for (int i = 0; i < 4; ++i)
    nodes.push_back(&t.g.add({.op = "Variable",
                              .attrs = {{"shape", PartialShape{100}}},
                              .name = fmt::format("v{}", i)}));
  auto request = t.request(2, {.latency = 1, .bytes_per_s = 1e3});
  for (DeviceInfo& device : request.devices) device.memory = 800;
  const Placement placed = place(t.g, request).value();
  for (const DeviceLoad& load : placed.devices)
    EXPECT_EQ(load.state_bytes, 800) << load.device;
  request.devices[0].memory = 700;
  const auto failed = place(t.g, request);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kResource);
}

}  // namespace
}  // namespace rondo
