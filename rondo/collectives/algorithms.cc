#include "rondo/collectives/algorithms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "rondo/collectives/direct_plans.h"

namespace rondo {
namespace {

double log2_up(int n) {
  return static_cast<double>(std::bit_width(static_cast<unsigned>(n - 1)));
}

// Messages between ranks of one host go through memory; with more hosts the
// slowest pair decides.
struct Wire {
  double message;
  double overhead;
  double byte;
};
Wire wire(const Topology& t, const Costs& c) {
  if (t.hosts == 1) return {c.local_message, c.local_overhead, c.local_byte};
  return {c.message, c.overhead, c.byte};
}

std::string_view always(const Topology&) { return {}; }

// All ranks are busy with it at once, so where they share cores they take
// turns.
double naive_cost(const Topology& t, const Costs& c, double bytes) {
  const Wire w = wire(t, c);
  return t.crowding * (w.message + (t.n - 2) * w.overhead) +
         (t.n - 1) * bytes * (w.byte + c.reduce_byte);
}

// What arrives at the driver overlaps; what it sends does not.
double star_cost(const Topology& t, const Costs& c, double bytes) {
  const Wire w = wire(t, c);
  return 2 * w.message + (t.n - 2) * w.overhead +
         (t.n - 1) * bytes * (2 * w.byte + c.reduce_byte);
}

double tree_cost(const Topology& t, const Costs& c, double bytes) {
  const Wire w = wire(t, c);
  return log2_up(t.n) * (2 * w.message + bytes * (2 * w.byte + c.reduce_byte));
}

// Below this many elements the butterfly exchanges whole vectors: half the
// steps.
constexpr int64_t kWholeVectors = 1024;

// Its steps are not pipelined, so long vectors cost it a little more.
double butterfly_cost(const Topology& t, const Costs& c, double bytes) {
  const Wire w = wire(t, c);
  const bool power = std::has_single_bit(static_cast<unsigned>(t.n));
  const double fold = power ? 0 : 2 * (w.message + bytes * w.byte);
  const double steps = log2_up(t.n);
  const double halving =
      2 * steps * w.message +
      (t.n - 1) * bytes / t.n * (2.02 * w.byte + c.reduce_byte);
  const double whole = steps * (w.message + bytes * (w.byte + c.reduce_byte));
  return fold + (bytes <= 4 * kWholeVectors ? whole : halving) +
         (t.crowding - 1) * steps * w.message / 2;
}

double ring_cost(const Topology& t, const Costs& c, double bytes) {
  const Wire w = wire(t, c);
  return 2 * (t.n - 1) * w.message +
         (t.n - 1) * bytes / t.n * (2 * w.byte + c.reduce_byte);
}

std::string_view direct_obstacle(const Topology& t) {
  return t.hosts == 1 ? "" : "it needs all ranks on one host";
}

double direct_cost(const Topology& t, const Costs& c, double bytes) {
  return 2 * c.direct + t.n * bytes * c.direct_byte / 2;
}

std::string_view hierarchical_obstacle(const Topology& t) {
  return t.hosts > 1 && t.largest_host > 1
             ? ""
             : "it needs several hosts with several ranks each";
}

double hierarchical_cost(const Topology& t, const Costs& c, double bytes) {
  const double slice = bytes / t.smallest_host;
  return 3 * c.direct + t.largest_host * bytes * c.direct_byte / 2 +
         2 * (t.hosts - 1) * c.message +
         2.0 * (t.hosts - 1) / t.hosts * slice * t.smallest_host * c.byte;
}

Plan butterfly_for_size(const AllreduceArgs& args) {
  return args.count <= kWholeVectors ? recursive_doubling_allreduce(args)
                                     : butterfly_allreduce(args);
}

constexpr AlgorithmEntry kTable[] = {
    {Algorithm::kNaive, "naive",
     "everyone sends to everyone: one step, for tiny vectors and few ranks",
     always, naive_cost, naive_allreduce},
    {Algorithm::kStar, "star",
     "through one driver: for comparison, and for two ranks", always, star_cost,
     star_allreduce},
    {Algorithm::kTree, "tree",
     "reduce up and broadcast down a binomial tree: for small vectors", always,
     tree_cost, tree_allreduce},
    {Algorithm::kButterfly, "butterfly",
     "recursive halving and doubling: few steps, for medium vectors", always,
     butterfly_cost, butterfly_for_size},
    {Algorithm::kRing, "ring",
     "scatter-reduce and allgather around a ring: least bytes, for large "
     "vectors",
     always, ring_cost, ring_allreduce},
    {Algorithm::kDirect, "direct",
     "in the shared memory of one host: reads and writes buffers in place",
     direct_obstacle, direct_cost, direct_allreduce},
    {Algorithm::kHierarchical, "hierarchical",
     "direct within each host, rings between hosts: for several ranks a host",
     hierarchical_obstacle, hierarchical_cost, hierarchical_allreduce},
};

// One row per constant: its name in the file.
struct CostField {
  std::string_view name;
  double Costs::*field;
};
constexpr CostField kFields[] = {
    {"message", &Costs::message},
    {"overhead", &Costs::overhead},
    {"byte", &Costs::byte},
    {"local_message", &Costs::local_message},
    {"local_overhead", &Costs::local_overhead},
    {"local_byte", &Costs::local_byte},
    {"reduce_byte", &Costs::reduce_byte},
    {"direct", &Costs::direct},
    {"direct_byte", &Costs::direct_byte},
};

}  // namespace

std::span<const AlgorithmEntry> allreduce_algorithms() { return kTable; }

const AlgorithmEntry* find_algorithm(std::string_view name) {
  for (const AlgorithmEntry& entry : kTable)
    if (entry.name == name) return &entry;
  return nullptr;
}

const AlgorithmEntry& algorithm_entry(Algorithm id) {
  return kTable[static_cast<size_t>(id) - 1];
}

std::string_view algorithm_name(uint8_t id) {
  if (id == 0 || id > std::size(kTable)) return "unknown";
  return kTable[id - 1].name;
}

const AlgorithmEntry& select_allreduce(const Topology& topology,
                                       const Costs& costs, int64_t bytes) {
  const AlgorithmEntry* best = nullptr;
  double least = 0;
  for (const AlgorithmEntry& entry : kTable) {
    if (!entry.obstacle(topology).empty()) continue;
    const double cost = entry.cost(topology, costs, static_cast<double>(bytes));
    if (best == nullptr || cost < least) {
      best = &entry;
      least = cost;
    }
  }
  return *best;
}

Result<Costs> Costs::parse(std::string_view text, std::string_view origin) {
  std::istringstream in{std::string(text)};
  Costs costs;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    double value = 0;
    words >> name >> value;
    const auto field =
        std::find_if(std::begin(kFields), std::end(kFields),
                     [&](const CostField& f) { return f.name == name; });
    if (!words || field == std::end(kFields) || !(value > 0) ||
        !std::isfinite(value))
      return error(Code::kInvalidArgument,
                   "{}, line {}: \"{}\" is not a constant and its seconds; "
                   "make the file anew with `rondo tune`",
                   origin, number, line);
    costs.*field->field = value;
  }
  return costs;
}

Result<Costs> Costs::read(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    return error(Code::kInvalidArgument,
                 "cannot read the tuning file {}; make one with `rondo tune`",
                 file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return parse(text, file);
}

std::string Costs::to_string() const {
  std::string text;
  for (const CostField& f : kFields)
    text += fmt::format("{} {:.6g}\n", f.name, this->*f.field);
  return text;
}

}  // namespace rondo
