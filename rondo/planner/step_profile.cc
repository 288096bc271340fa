#include "rondo/planner/step_profile.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "rondo/base/memory_limit.h"
#include "rondo/base/units.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/placement/cost_model.h"
#include "rondo/planner/median.h"
#include "rondo/planner/step_inputs.h"
#include "rondo/runtime/step_times.h"

namespace rondo {
namespace {

// Of one run; a loop that depends on what is fed may never end.
constexpr Duration kMostTime = std::chrono::minutes(10);

// Waits for others in a way that one step alone cannot end.
bool is_joint(const Node& node) {
  return node.op().waits && !is_input(node) &&
         !node.op().name.starts_with("Mutex");
}

// Whether no more than the batch is open.
bool is_settled(const PartialShape& shape) {
  return shape.has_rank() && std::ranges::count(shape.extents(), kAny) <= 1;
}

// Whether there is memory for what is certainly there at once: the variables,
// or the largest tensor, which may be one of them. Of several open extents that
// of no input, some may be far less than the batch.
Status check_memory(const TrainingStep& step, std::span<Node* const> nodes,
                    int64_t batch) {
  const CostModel costs({.unknown_extent = static_cast<double>(batch)});
  double variables = 0, largest = 0;
  for (const Value& variable : step.graph->collection(kVariables))
    variables += costs.bytes(variable);
  for (Node* node : nodes)
    for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
      if (is_input(*node) || is_settled(node->output(i).shape()))
        largest = std::max(largest, costs.bytes(node->output(i)));
  const double memory = memory_limit();
  const double needed = std::max(variables, largest);
  if (needed < memory) return {};
  return error(Code::kInvalidArgument,
               "a step of {} rows needs {} of memory at least, and here are "
               "{}; take a smaller --batch, or give the time of a step, such "
               "as --step-time 0.55",
               batch, bytes_text(needed), bytes_text(memory));
}

// What is fed does not run, unless something waits for it to have run.
Status check_alone(std::span<Node* const> nodes) {
  for (const Node* node : nodes) {
    if (is_joint(*node))
      return error(Code::kInvalidArgument,
                   "a step cannot be measured alone: {} waits for others; save "
                   "the graph of a program that runs as one process, or give "
                   "the time of a step, such as --step-time 0.55",
                   node->describe());
    for (const Node* before : node->control_inputs())
      if (is_input(*before))
        return error(Code::kInvalidArgument,
                     "a step cannot be measured: {} has a control dependency "
                     "on {}, which has nothing to give here; leave it out, or "
                     "give the time of a step, such as --step-time 0.55",
                     node->describe(), before->describe());
  }
  return {};
}

// What the nodes of a step took in its runs.
class NodeRuns {
 public:
  explicit NodeRuns(const Graph& graph) : graph_(graph) {}

  void add(const Timeline& timeline) {
    struct Run {
      double seconds = 0, end = 0;  // all of a loop, and the last in it
    };
    std::map<int, Run> step;
    for (const Timeline::Event& event : timeline.events()) {
      const Node* node = node_of(graph_, event);
      if (node == nullptr) continue;
      Run& run = step[node->id()];
      run.seconds += event.us / 1e6;
      run.end = std::max(run.end, event.start_us + event.us);
    }
    for (const auto& [id, run] : step) {
      runs_[id].seconds.push_back(run.seconds);
      runs_[id].ends.push_back(run.end);
    }
  }

  // Medians, which a run that others interrupted does not move.
  NodeTimes times() const {
    std::vector<std::pair<double, NodeTime>> by_end;
    for (const auto& [id, runs] : runs_) {
      const Node* node = graph_.nodes()[static_cast<size_t>(id)].get();
      by_end.push_back({median(runs.ends), {node, median(runs.seconds)}});
    }
    std::ranges::stable_sort(by_end, {},
                             [](const auto& one) { return one.first; });
    NodeTimes times;
    for (const auto& [end, time] : by_end) times.push_back(time);
    return times;
  }

 private:
  struct Runs {
    std::vector<double> seconds, ends;
  };
  const Graph& graph_;
  std::map<int, Runs> runs_;  // by the number of a node
};

// Runs the step again and again.
class StepRunner {
 public:
  // With operations on the devices that are here, wherever the program has
  // them.
  StepRunner(const TrainingStep& step, Node& start, int threads)
      : step_(step),
        start_(start),
        session_(*step.graph,
                 {.intra_op_threads = threads, .allow_soft_placement = true}) {}

  Status begin(const StepInputs& inputs) {
    RONDO_ASSIGN_OR_RETURN(feeds_, inputs.tensors(session_));
    return session_.run({}, feeds_, {&start_}, {.timeout = kMostTime}).status();
  }
  // How long each step takes: `most` of them, or fewer that take so many
  // seconds in all, but one at least.
  Result<std::vector<double>> run(size_t most, double seconds) {
    return repeat(most, seconds, [this] {
      return run_once({step_.train}, {.timeout = kMostTime});
    });
  }
  // Gradients are asked for by themselves, as an exchange does, so that no pass
  // makes them part of what uses them. Passes may then do less for what they
  // are made of, so these steps are not those whose time counts.
  Result<NodeTimes> trace(size_t most, double seconds) {
    std::vector<Node*> targets = {step_.train};
    for (const GradientAndVariable& one : step_.gradients)
      if (one.gradient && !is_input(*one.gradient.values.node))
        targets.push_back(one.gradient.values.node);
    NodeRuns nodes(*step_.graph);
    const auto traced = [&] {
      Timeline timeline;
      Status run =
          run_once(targets, {.timeout = kMostTime, .timeline = &timeline});
      nodes.add(timeline);
      return run;
    };
    // The first run of other targets makes a plan of them.
    RONDO_RETURN_IF_ERROR(run_once(targets, {.timeout = kMostTime}));
    RONDO_RETURN_IF_ERROR(repeat(most, seconds, traced).status());
    return nodes.times();
  }

 private:
  Status run_once(const std::vector<Node*>& targets,
                  const RunOptions& options) {
    return session_.run({}, feeds_, targets, options).status();
  }
  template <class Run>
  static Result<std::vector<double>> repeat(size_t most, double seconds,
                                            const Run& run) {
    std::vector<double> took;
    const auto start = Clock::now();
    do {
      const auto begin = Clock::now();
      RONDO_RETURN_IF_ERROR(run());
      took.push_back(to_seconds(Clock::now() - begin));
    } while (took.size() < most && to_seconds(Clock::now() - start) < seconds);
    return took;
  }

  const TrainingStep& step_;
  Node& start_;
  Session session_;
  std::vector<Feed> feeds_;
};

Result<StepProfile> run_step(const TrainingStep& step, Node& start,
                             const StepInputs& inputs,
                             const ProfileOptions& options) {
  constexpr size_t kWarmSteps = 3, kTracedSteps = 20;
  constexpr size_t kManySteps = 1'000'000;
  StepRunner runner(step, start, options.threads);
  RONDO_RETURN_IF_ERROR(runner.begin(inputs));
  RONDO_RETURN_IF_ERROR(runner.run(kWarmSteps, options.seconds).status());
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> took,
                         runner.run(kManySteps, options.seconds));
  RONDO_ASSIGN_OR_RETURN(NodeTimes nodes,
                         runner.trace(kTracedSteps, options.seconds));
  return StepProfile{
      .seconds = median(took), .nodes = std::move(nodes), .fed = inputs.text()};
}

// An error where neither the step nor what `start` does first can be run alone.
Result<StepInputs> checked_inputs(const TrainingStep& step, const Node& start,
                                  const ProfileOptions& options) {
  std::vector<Node*> nodes = step.needed();
  const std::vector<Node*> first = needed_by(start);
  nodes.insert(nodes.end(), first.begin(), first.end());
  RONDO_RETURN_IF_ERROR(check_alone(nodes));
  RONDO_RETURN_IF_ERROR(check_memory(step, nodes, options.batch));
  return StepInputs::of({step.train, &start}, options.batch, options.feeds);
}

}  // namespace

Status check_profile(const TrainingStep& step, const ProfileOptions& options) {
  return checked_inputs(step, initializer(*step.graph), options).status();
}

Result<StepProfile> profile_step(const TrainingStep& step,
                                 const ProfileOptions& options) {
  Node& start = initializer(*step.graph);
  RONDO_ASSIGN_OR_RETURN(const StepInputs inputs,
                         checked_inputs(step, start, options));
  auto profile = run_step(step, start, inputs, options);
  if (profile.ok()) return profile;
  return error(Code::kInvalidArgument,
               "a step cannot be measured {}: {}; where an input is wrong, "
               "give another, such as --feed NAME=1; else give the time of a "
               "step, such as --step-time 0.55",
               inputs.text(), profile.status().message());
}

}  // namespace rondo
