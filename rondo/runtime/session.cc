#include "rondo/runtime/session.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "rondo/base/attempt.h"
#include "rondo/base/cores.h"
#include "rondo/graph/passes/passes.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/kernel_registry.h"
#include "rondo/kernels/layout.h"
#include "rondo/runtime/buffer_pool.h"
#include "rondo/runtime/step.h"
#include "rondo/runtime/step_plan.h"
#include "rondo/runtime/worker_pool.h"

namespace rondo {
namespace {

// What one compiled plan is for: node ids and output numbers.
using PlanKey = std::vector<int>;

void set_key(PlanKey& key, const std::vector<Value>& fetches,
             const std::vector<Feed>& feeds,
             const std::vector<Node*>& targets) {
  key.clear();
  auto add = [&](const Value& value) {
    key.push_back(value.node->id());
    key.push_back(value.index);
  };
  for (const Feed& feed : feeds) add(feed.value);
  key.push_back(-1);
  for (const Value& fetch : fetches) add(fetch);
  key.push_back(-1);
  for (const Node* target : targets) key.push_back(target->id());
}

// A plan with the steps that are not running at the moment.
struct Compiled {
  std::unique_ptr<StepPlan> plan;
  std::mutex mutex;
  std::vector<std::unique_ptr<Step>> idle;  // guarded by mutex
};

bool fits(const PartialShape& known, const Shape& shape) {
  if (!known.has_rank()) return true;
  if (known.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (known[i] != kAny && known[i] != shape[i]) return false;
  return true;
}

// While it lives, loops that this thread starts use so many threads.
class IntraOpThreads {
 public:
  explicit IntraOpThreads(int threads) : before_(intra_op_threads()) {
    set_intra_op_threads(threads);
  }
  ~IntraOpThreads() { set_intra_op_threads(before_); }
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;

 private:
  const int before_;
};

Status check_feed(const Feed& feed) {
  const Value& value = feed.value;
  if (feed.tensor.dtype() != value.dtype())
    return error(Code::kInvalidArgument,
                 "{} takes elements of {}, but was fed {}",
                 value.node->describe(), name_of(value.dtype()),
                 name_of(feed.tensor.dtype()));
  if (!fits(value.shape(), feed.tensor.shape()))
    return error(Code::kInvalidArgument,
                 "{} has shape {}, but was fed a tensor of shape {}",
                 value.node->describe(), value.shape().to_string(),
                 feed.tensor.shape().to_string());
  if (!feed.tensor.has_buffer() && feed.tensor.count() > 0)
    return error(Code::kInvalidArgument,
                 "{} was fed a tensor that has no memory: it was moved from, "
                 "or never made",
                 value.node->describe());
  return {};
}

Status session_closed() {
  return error(Code::kCancelled, "the session was closed");
}

}  // namespace

struct Session::Impl {
  Impl(Graph& g, const SessionOptions& o)
      : graph(g),
        inter_op(std::max(1, o.inter_op_threads)),
        intra_op(o.intra_op_threads > 0 ? o.intra_op_threads
                                        : share_of_cores()),
        workers(inter_op - 1, [n = intra_op] { set_intra_op_threads(n); }) {}

  Result<std::shared_ptr<Compiled>> compiled(
      const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
      const std::vector<Node*>& targets) {
    const std::lock_guard lock(mutex);
    set_key(key, fetches, feeds, targets);
    if (const auto at = plans.find(key); at != plans.end()) return at->second;
    std::vector<Value> fed;
    for (const Feed& feed : feeds) fed.push_back(feed.value);
    auto made = std::make_shared<Compiled>();
    try {
      Subgraph part = [&] {
        const auto still = graph.still();
        return extract(graph, fed, fetches, targets);
      }();
      improve(part);
      order_changes(part);
      RONDO_ASSIGN_OR_RETURN(made->plan, compile(std::move(part), resources));
    } catch (const Error& e) {
      return Status(e.code(), e.what());
    }
    plans[key] = made;
    return made;
  }

  void improve(Subgraph& part) {
    const Evaluate evaluate =
        [&](const Node& node,
            std::span<const Tensor> constants) -> Result<std::vector<Tensor>> {
      RONDO_ASSIGN_OR_RETURN(
          auto kernel, KernelRegistry::process().make(node, "cpu", resources));
      std::vector<Tensor> inputs(constants.begin(), constants.end());
      std::vector<Tensor> outputs(node.outputs().size());
      Cancellation cancellation;
      Resources stacks;
      KernelContext context(pool, resources, stacks, cancellation, inputs,
                            outputs);
      // What it throws the step says again, and of which node.
      RONDO_RETURN_IF_ERROR(attempt([&] { return kernel->run(context); }));
      for (Tensor& output : outputs)
        output = in_layout(pool, output, Layout::kRowMajor);
      return outputs;
    };
    simplify(part);
    fold_constants(part, evaluate);
    share_common(part);
    fuse_epilogues(part);
    fuse_chains(part);
  }

  // A run, known to close() while it lives.
  class Running {
   public:
    Running(Impl& impl, Cancellation& run) : impl_(impl), run_(run) {
      const std::lock_guard lock(impl.runs_mutex);
      impl.runs.push_back(&run);
      if (impl.closed) run.cancel(session_closed());
    }
    ~Running() {
      const std::lock_guard lock(impl_.runs_mutex);
      std::erase(impl_.runs, &run_);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Impl& impl_;
    Cancellation& run_;
  };

  void close() {
    const std::lock_guard lock(runs_mutex);
    closed = true;
    for (Cancellation* run : runs) run->cancel(session_closed());
  }

  Graph& graph;
  const int inter_op;
  const int intra_op;
  Resources resources;
  BufferPool pool;
  std::mutex mutex;
  // Guarded by mutex; plans never go.
  std::map<PlanKey, std::shared_ptr<Compiled>> plans;
  PlanKey key;  // of the plan that is looked for; keeps its memory
  std::mutex runs_mutex;
  // Guarded by runs_mutex.
  bool closed = false;
  std::vector<Cancellation*> runs;
  WorkerPool workers;
};

Session::Session(Graph& graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, options)) {}

Session::~Session() = default;

void Session::close() { impl_->close(); }

Graph& Session::graph() const { return impl_->graph; }
Resources& Session::resources() { return impl_->resources; }

Result<std::vector<Tensor>> Session::run(const std::vector<Value>& fetches,
                                         const std::vector<Feed>& feeds,
                                         const std::vector<Node*>& targets,
                                         const RunOptions& options) {
  auto of_this_graph = [&](const Node* node) {
    return node && &node->graph() == &impl_->graph;
  };
  for (const Value& fetch : fetches)
    if (!of_this_graph(fetch.node))
      return error(Code::kInvalidArgument,
                   "a fetch is no value of the session's graph");
  for (const Node* target : targets)
    if (!of_this_graph(target))
      return error(Code::kInvalidArgument,
                   "a target is no node of the session's graph");
  if (!feeds.empty()) {
    const auto still = impl_->graph.still();
    for (const Feed& feed : feeds) {
      if (!of_this_graph(feed.value.node))
        return error(Code::kInvalidArgument,
                     "a feed is for no value of the session's graph");
      RONDO_RETURN_IF_ERROR(check_feed(feed));
    }
  }
  // What is folded while compiling has the bits that it would have in a step.
  const IntraOpThreads threads(impl_->intra_op);
  RONDO_ASSIGN_OR_RETURN(auto compiled,
                         impl_->compiled(fetches, feeds, targets));
  std::unique_ptr<Step> step;
  {
    const std::lock_guard lock(compiled->mutex);
    if (!compiled->idle.empty()) {
      step = std::move(compiled->idle.back());
      compiled->idle.pop_back();
    }
  }
  if (!step)
    step =
        std::make_unique<Step>(*compiled->plan, impl_->pool, impl_->resources);

  Cancellation cancellation;
  const Impl::Running running(*impl_, cancellation);
  int link = 0;
  if (options.cancellation)
    link = options.cancellation->on_cancel(
        [&] { cancellation.cancel(options.cancellation->reason()); });
  // One of no elements may come without memory, which in a step means dead.
  for (const Feed& feed : feeds)
    step->feeds().push_back(
        feed.tensor.has_buffer()
            ? feed.tensor
            : Tensor::empty(feed.tensor.shape(), feed.tensor.dtype()));
  step->begin({.cancellation = &cancellation,
               .deadline = options.timeout == Duration::max()
                               ? Deadline::never()
                               : Deadline(options.timeout),
               .timeline = options.timeline,
               .several_threads = impl_->inter_op > 1});
  impl_->workers.run([&] { step->work(); });
  if (options.cancellation) options.cancellation->forget(link);
  auto result = step->finish();
  if (result.ok())
    // What variables, constants, feeds or other fetches hold stays theirs.
    for (Tensor& tensor : *result)
      if (!tensor.unique()) tensor = tensor.clone();
  const std::lock_guard lock(compiled->mutex);
  compiled->idle.push_back(std::move(step));
  return result;
}

Result<Tensor> Session::run(Value fetch, const std::vector<Feed>& feeds) {
  auto result = run(std::vector<Value>{fetch}, feeds);
  if (!result.ok()) return result.status();
  return std::move((*result)[0]);
}

Status Session::run(Node& target, const std::vector<Feed>& feeds) {
  return run({}, feeds, {&target}).status();
}

}  // namespace rondo
