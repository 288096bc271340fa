#include "rondo/planner/step_profile.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "rondo/base/units.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/placement/cost_model.h"
#include "rondo/planner/median.h"
#include "rondo/runtime/session.h"
#include "rondo/runtime/step_times.h"

namespace rondo {
namespace {

// Of one run; a loop that depends on what is fed may never end.
constexpr Duration kMostTime = std::chrono::minutes(10);

bool is_input(const Node& node) {
  const std::string_view op = node.op().name;
  return op == "Placeholder" || op == "IteratorGetNext" ||
         op.starts_with("QueueDequeue");
}

// Waits for others in a way that one step alone cannot end.
bool is_joint(const Node& node) {
  return node.op().waits && !is_input(node) &&
         !node.op().name.starts_with("Mutex");
}

struct Input {
  Value value;
  Shape shape;
  double number = 0;

  // "x [32, 784] = 0.1".
  std::string text() const {
    return fmt::format("{} {} = {:g}", value.name(),
                       PartialShape(shape).to_string(), number);
  }
};

double usual_number(DType dtype) {
  if (contains(TypeSet::kFloat, dtype)) return 0.1;
  return dtype == DType::kBool ? 1 : 0;
}

// What a run of the step has to be given.
class Inputs {
 public:
  Inputs(const TrainingStep& step, int64_t batch)
      : graph_(*step.graph), batch_(batch) {
    for (const int id : step.needed()) {
      Node& node = *graph_.nodes()[static_cast<size_t>(id)];
      if (is_input(node)) nodes_.push_back(&node);
    }
  }

  Status set(const std::vector<std::string>& feeds) {
    for (Node* node : nodes_)
      for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
        RONDO_RETURN_IF_ERROR(add(node->output(i)));
    for (const std::string& feed : feeds) RONDO_RETURN_IF_ERROR(set_one(feed));
    return {};
  }

  // As tensors, made by a session.
  Result<std::vector<Feed>> feeds(Session& session) const {
    std::vector<Feed> feeds;
    for (const Input& input : inputs_) {
      RONDO_ASSIGN_OR_RETURN(Tensor tensor,
                             session.run(fill(graph_, input.shape, input.number,
                                              input.value.dtype())));
      feeds.push_back({input.value, std::move(tensor)});
    }
    return feeds;
  }

  std::string text() const {
    std::string text;
    for (const Input& input : inputs_)
      text += fmt::format("{} {}", text.empty() ? "with" : ",", input.text());
    return text.empty() ? "which takes no input" : text;
  }

 private:
  Status add(Value value) {
    if (!value.shape().has_rank())
      return error(Code::kInvalidArgument,
                   "a step cannot be measured: {} has no rank; say its shape "
                   "in the program, with None for what is open, or give the "
                   "time of a step, such as --step-time 0.55",
                   value.node->describe());
    PartialShape shape = value.shape();
    for (int i = 0; i < shape.rank(); ++i)
      if (shape[i] == kAny) shape.set(i, batch_);
    inputs_.push_back({value, shape.to_shape(), usual_number(value.dtype())});
    return {};
  }

  Status set_one(const std::string& feed) {
    const size_t equals = feed.rfind('=');
    const std::string name = feed.substr(0, equals);
    const std::string number =
        equals == std::string::npos ? "" : feed.substr(equals + 1);
    const auto input = std::ranges::find_if(
        inputs_, [&](const Input& one) { return one.value.name() == name; });
    if (input == inputs_.end())
      return error(Code::kInvalidArgument,
                   "--feed {}: the step has no input of that name; it runs {}",
                   feed, text());
    const char* end = number.data() + number.size();
    const auto [rest, failed] =
        std::from_chars(number.data(), end, input->number);
    if (number.empty() || failed != std::errc() || rest != end)
      return error(Code::kInvalidArgument,
                   "--feed {}: give a number, such as {}=1", feed, name);
    return {};
  }

  Graph& graph_;
  const int64_t batch_;
  std::vector<Node*> nodes_;
  std::vector<Input> inputs_;
};

// Whether this machine could have what is certainly there at once: the
// variables, and the largest tensor.
Status check_memory(const TrainingStep& step, int64_t batch) {
  const CostModel costs({.unknown_extent = static_cast<double>(batch)});
  double variables = 0, largest = 0;
  for (const Value& variable : step.graph->collection(kVariables))
    variables += costs.bytes(variable);
  for (const int id : step.needed()) {
    Node& node = *step.graph->nodes()[static_cast<size_t>(id)];
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i)
      largest = std::max(largest, costs.bytes(node.output(i)));
  }
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(sysconf(_SC_PAGESIZE));
  if (variables + largest < memory) return {};
  return error(Code::kInvalidArgument,
               "a step of {} rows needs {} of memory at least, and here are "
               "{}; take a smaller --batch, or give the time of a step, such "
               "as --step-time 0.55",
               batch, bytes_text(variables + largest), bytes_text(memory));
}

Status check_alone(const TrainingStep& step) {
  for (const int id : step.needed()) {
    const Node& node = *step.graph->nodes()[static_cast<size_t>(id)];
    if (is_joint(node))
      return error(Code::kInvalidArgument,
                   "a step cannot be measured alone: {} waits for others; save "
                   "the graph of a program that runs as one process, or give "
                   "the time of a step, such as --step-time 0.55",
                   node.describe());
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
  StepRunner(const TrainingStep& step, int threads)
      : step_(step),
        session_(*step.graph, {.intra_op_threads = threads}),
        targets_{step.train} {
    // No pass changes what is asked for: in a job, exchanges need it.
    for (const GradientAndVariable& one : step.gradients)
      if (one.gradient) targets_.push_back(one.gradient.values.node);
  }

  Status begin(const Inputs& inputs) {
    RONDO_ASSIGN_OR_RETURN(feeds_, inputs.feeds(session_));
    return session_
        .run({}, {}, {&initializer(*step_.graph)}, {.timeout = kMostTime})
        .status();
  }
  // How long each step takes: `most` of them, or fewer that take so many
  // seconds in all, but one at least.
  Result<std::vector<double>> run(size_t most, double seconds,
                                  NodeRuns* nodes = nullptr) {
    std::vector<double> took;
    const auto start = Clock::now();
    do {
      Timeline timeline;
      const auto begin = Clock::now();
      RONDO_RETURN_IF_ERROR(
          session_
              .run({}, feeds_, targets_,
                   {.timeout = kMostTime,
                    .timeline = nodes == nullptr ? nullptr : &timeline})
              .status());
      took.push_back(to_seconds(Clock::now() - begin));
      if (nodes != nullptr) nodes->add(timeline);
    } while (took.size() < most && to_seconds(Clock::now() - start) < seconds);
    return took;
  }

 private:
  const TrainingStep& step_;
  Session session_;
  std::vector<Node*> targets_;
  std::vector<Feed> feeds_;
};

Result<StepProfile> run_step(const TrainingStep& step, const Inputs& inputs,
                             const ProfileOptions& options) {
  constexpr size_t kWarmSteps = 3, kTracedSteps = 20;
  constexpr size_t kManySteps = 1'000'000;
  StepRunner runner(step, options.threads);
  RONDO_RETURN_IF_ERROR(runner.begin(inputs));
  RONDO_RETURN_IF_ERROR(runner.run(kWarmSteps, options.seconds).status());
  RONDO_ASSIGN_OR_RETURN(std::vector<double> took,
                         runner.run(kManySteps, options.seconds));
  NodeRuns nodes(*step.graph);
  RONDO_RETURN_IF_ERROR(
      runner.run(kTracedSteps, options.seconds, &nodes).status());
  return StepProfile{
      .seconds = median(took), .nodes = nodes.times(), .fed = inputs.text()};
}

}  // namespace

Result<StepProfile> profile_step(const TrainingStep& step,
                                 const ProfileOptions& options) {
  RONDO_RETURN_IF_ERROR(check_alone(step));
  RONDO_RETURN_IF_ERROR(check_memory(step, options.batch));
  Inputs inputs(step, options.batch);
  RONDO_RETURN_IF_ERROR(inputs.set(options.feeds));
  auto profile = run_step(step, inputs, options);
  if (profile.ok()) return profile;
  return error(Code::kInvalidArgument,
               "a step cannot be measured {}: {}; where an input is wrong, "
               "give another, such as --feed NAME=1; else give the time of a "
               "step, such as --step-time 0.55",
               inputs.text(), profile.status().message());
}

}  // namespace rondo
