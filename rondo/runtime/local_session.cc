// Sessions whose devices are of this process.
#include <algorithm>
#include <mutex>

#include "rondo/base/cores.h"
#include "rondo/runtime/active_runs.h"
#include "rondo/runtime/compiled_part.h"
#include "rondo/runtime/constraint_placement.h"
#include "rondo/runtime/device.h"
#include "rondo/runtime/explain_placed.h"
#include "rondo/runtime/intra_op.h"
#include "rondo/runtime/local_worker.h"
#include "rondo/runtime/master_impl.h"
#include "rondo/runtime/plan_key.h"
#include "rondo/runtime/session_placement.h"
#include "rondo/runtime/worker_pool.h"

namespace rondo {
namespace {

// The names of the devices that the options ask for.
std::vector<std::string> device_names(const SessionOptions& options) {
  std::vector<std::string> names;
  for (const auto& [kind, count] : options.devices) {
    if (kind != "cpu" && count > 0)
      throw Error(Code::kInvalidArgument,
                  fmt::format("this process has no devices of the kind "
                              "\"{}\"; there is \"cpu\"",
                              kind));
    for (int i = 0; i < count; ++i)
      names.push_back(fmt::format("/job:localhost/task:0/{}:{}", kind, i));
  }
  if (names.empty()) names.push_back("/job:localhost/task:0/cpu:0");
  return names;
}

// On one device: no master, no rendezvous, and the caller's thread works.
class OneDevice final : public Session::Impl {
 public:
  OneDevice(Graph& g, const SessionOptions& o, std::vector<std::string> d)
      : Impl(g, std::move(d)),
        inter_op_(std::max(1, o.inter_op_threads)),
        intra_op_(o.intra_op_threads > 0 ? o.intra_op_threads
                                         : share_of_cores()),
        soft_(o.allow_soft_placement),
        device_(devices[0]),
        workers_(inter_op_ - 1, [n = intra_op_] { set_intra_op_threads(n); }) {}

  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets,
                                  const RunOptions& options) override {
    // What is folded while compiling has the bits that it would have in a step.
    const IntraOpThreads threads(intra_op_);
    RONDO_ASSIGN_OR_RETURN(const auto part, part_for(fetches, feeds, targets));
    std::unique_ptr<Step> step = part->take();
    Cancellation cancellation;
    const ActiveRuns::Entry entry(runs_, cancellation);
    int link = 0;
    if (options.cancellation)
      link = options.cancellation->on_cancel(
          [&] { cancellation.cancel(options.cancellation->reason()); });
    for (const Feed& feed : feeds) step->feeds().push_back(feed.tensor);
    step->begin({.cancellation = &cancellation,
                 .deadline = options.deadline(),
                 .timeline = options.timeline,
                 .several_threads = inter_op_ > 1});
    workers_.run([&] { step->work(); });
    if (options.cancellation) options.cancellation->forget(link);
    auto result = step->finish();
    if (result.ok())
      // What variables, constants, feeds or other fetches hold stays theirs.
      for (Tensor& tensor : *result)
        if (!tensor.unique()) tensor = tensor.clone();
    part->give_back(std::move(step));
    return result;
  }
  Result<std::string> explain_placement(
      const std::vector<Value>& fetches, const std::vector<Value>& feeds,
      const std::vector<Node*>& targets) override {
    const auto still = graph.still();
    const Subgraph step = extract(graph, feeds, fetches, targets);
    RONDO_RETURN_IF_ERROR(check_one_device(step, devices[0], soft_));
    for (const auto& node : step.graph->nodes()) node->set_device(devices[0]);
    return explain_placed(step, {}, devices);
  }
  void close() override { runs_.close(); }
  Resources& resources() override { return containers_.find_or_make(""); }

 private:
  Result<std::shared_ptr<CompiledPart>> part_for(
      const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
      const std::vector<Node*>& targets) {
    const std::lock_guard lock(mutex_);
    set_key(key_, fetches, feeds, targets);
    if (const auto at = parts_.find(key_); at != parts_.end())
      return at->second;
    std::vector<Value> fed;
    for (const Feed& feed : feeds) fed.push_back(feed.value);
    try {
      Subgraph step = [&] {
        const auto still = graph.still();
        return extract(graph, fed, fetches, targets);
      }();
      RONDO_RETURN_IF_ERROR(check_one_device(step, devices[0], soft_));
      RONDO_ASSIGN_OR_RETURN(
          auto part, CompiledPart::make(std::move(step), device_, containers_));
      parts_[key_] = part;
      return part;
    } catch (const Error& e) {
      return Status(e.code(), e.what());
    }
  }

  const int inter_op_;
  const int intra_op_;
  const bool soft_;
  Containers containers_;
  CpuDevice device_;
  ActiveRuns runs_;
  std::mutex mutex_;
  // Guarded by mutex_; parts never go.
  PlanMap<std::shared_ptr<CompiledPart>> parts_;
  PlanKey key_;  // of the part that is looked for; keeps its memory
  WorkerPool workers_;
};

// On several devices of this process: a master with one worker.
class SeveralDevices final : public MasterImpl {
 public:
  SeveralDevices(Graph& g, const SessionOptions& o, std::vector<std::string> d)
      : MasterImpl(g, std::move(d)),
        worker_(std::make_shared<LocalWorker>(
            LocalWorker::Options{.devices = devices,
                                 .inter_op_threads = o.inter_op_threads,
                                 .intra_op_threads = o.intra_op_threads})),
        placement_(
            {.kind = o.placement,
             .devices = devices,
             .inter_op_threads = o.inter_op_threads,
             .intra_op_threads =
                 o.intra_op_threads > 0
                     ? o.intra_op_threads
                     : share_of_cores() / static_cast<int>(devices.size()),
             .soft = o.allow_soft_placement,
             .one_process = true}),
        master_(g, master_options(o)) {}

  Resources& resources() override {
    return worker_->containers().find_or_make("");
  }

 private:
  Master& master() override { return master_; }
  MasterOptions master_options(const SessionOptions& o) {
    MasterOptions options{.workers = {worker_},
                          .partition = {.bf16 = o.bf16_transfers},
                          .log_placement = o.log_device_placement};
    placement_.serve(options);
    return options;
  }

  const std::shared_ptr<LocalWorker> worker_;
  SessionPlacement placement_;
  Master master_;
};

}  // namespace

Session::Session(Graph& graph, const SessionOptions& options) {
  std::vector<std::string> devices = device_names(options);
  if (devices.size() == 1)
    impl_ = std::make_unique<OneDevice>(graph, options, std::move(devices));
  else
    impl_ =
        std::make_unique<SeveralDevices>(graph, options, std::move(devices));
}

}  // namespace rondo
