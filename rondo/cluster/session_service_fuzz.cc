// Calls of clients to a master, in any order and with any content, from two
// links that come and go: sessions made and closed, graphs that grow, runs,
// explanations, cancellations. Graphs are placed and cut as always; what runs
// them is not there.
#include <fuzzer/FuzzedDataProvider.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "rondo/cluster/fuzz_model.h"
#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/session_call.h"
#include "rondo/cluster/session_service.h"
#include "rondo/graph/graph_io.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/runtime/contention.h"
#include "rondo/runtime/master_impl.h"
#include "rondo/runtime/session_placement.h"

using namespace rondo;

// Without them, any device may have any node.
void rondo::register_cpu_kernels(KernelRegistry& /*registry*/) {}
std::vector<double> rondo::measure_contention(int /*nodes*/, int /*threads*/) {
  return {1.5};
}

namespace {

// Two devices that run nothing: a fetch is a scalar 0.
class FakeWorker final : public Worker {
 public:
  std::vector<std::string> devices() const override {
    return {"/job:worker/task:0/cpu:0", "/job:worker/task:0/cpu:1"};
  }
  Result<int64_t> add(std::vector<Part> parts, Deadline,
                      const Cancellation&) override {
    size_t fetches = 0;
    for (const Part& part : parts) fetches += part.subgraph.fetches.size();
    const std::lock_guard lock(mutex_);
    fetches_[++last_] = fetches;
    return last_;
  }
  void remove(int64_t graph) override {
    const std::lock_guard lock(mutex_);
    if (fetches_.erase(graph) != 1) std::abort();
  }
  void run(StepCall call, Done done) override {
    std::vector<Tensor> fetched;
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < fetches_.at(call.graph); ++i)
        fetched.push_back(Tensor::zeros({}));
    }
    done(std::move(fetched));
  }
  void cancel(int64_t, const Status&) override {}

 private:
  std::mutex mutex_;
  int64_t last_ = 0;
  std::map<int64_t, size_t> fetches_;  // of graphs that are there
};

class FakeSession final : public MasterImpl {
 public:
  FakeSession(Graph& of, const ClusterSessionOptions& options)
      : MasterImpl(of, FakeWorker().devices()),
        placement_({.kind = options.placement,
                    .devices = devices,
                    .intra_op_threads = 1,
                    .soft = options.allow_soft_placement,
                    .one_process = true}),
        master_(of, master_options(options)) {}
  Resources& resources() override { std::abort(); }

 private:
  Master& master() override { return master_; }
  MasterOptions master_options(const ClusterSessionOptions& options) {
    MasterOptions made{.workers = {std::make_shared<FakeWorker>()},
                       .partition = {.bf16 = options.bf16_transfers}};
    placement_.serve(made);
    return made;
  }
  SessionPlacement placement_;
  Master master_;
};

// A graph as clients send it, and the names in it.
struct Model {
  Model() {
    Graph g;
    fuzz_model(g);
    bytes = to_graph_def(g);
    for (const auto& node : g.nodes()) {
      nodes.push_back(node->name());
      for (size_t i = 0; i < node->outputs().size(); ++i)
        values.push_back(node->output(static_cast<int>(i)).name());
    }
  }
  std::string bytes;
  std::vector<std::string> nodes, values;
};

// What clients would send, or nearly so, or anything.
class Client {
 public:
  Client(FuzzedDataProvider& in, const Model& model) : in_(in), model_(model) {}

  std::vector<uint64_t> sessions;  // that were made

  uint64_t session() {
    if (odd()) return in_.ConsumeIntegral<uint64_t>();
    return one_of(sessions);
  }
  // The model, whole, to the latest session.
  LinkCall first_call() {
    return {number(CallMethod::kExtend),
            wire::Writer()
                .number(static_cast<int64_t>(sessions.back()))
                .number(0)
                .take(),
            {bytes_tensor(model_.bytes)}};
  }
  LinkCall next_call() {
    const auto method =
        static_cast<CallMethod>(in_.ConsumeIntegralInRange<uint32_t>(15, 21));
    LinkCall call;
    if (method == CallMethod::kSessionRun ||
        method == CallMethod::kSessionExplain) {
      call = run_call();
    } else {
      wire::Writer body;
      body.number(static_cast<int64_t>(session()));
      if (method != CallMethod::kAttach)
        body.number(in_.ConsumeIntegralInRange(-1, 20));
      if (method == CallMethod::kSessionCancel) body.text("enough");
      call.body = body.take();
    }
    if (method == CallMethod::kExtend)
      call.tensors = {bytes_tensor(odd() ? in_.ConsumeRandomLengthString()
                                         : changed(model_.bytes))};
    if (odd()) call.body = changed(call.body);
    call.method = number(method);
    return call;
  }

 private:
  // Now and then; not when the input has come to its end.
  bool odd() { return in_.ConsumeIntegral<uint8_t>() > 235; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[in_.ConsumeIntegralInRange<size_t>(0, all.size() - 1)];
  }
  std::string changed(std::string bytes) {
    const int changes = in_.ConsumeIntegralInRange(0, 3);
    for (int i = 0; i < changes && !bytes.empty(); ++i) {
      const auto at = in_.ConsumeIntegralInRange<size_t>(0, bytes.size() - 1);
      if (odd())
        bytes.resize(at);
      else
        bytes[at] = in_.ConsumeIntegral<char>();
    }
    return bytes;
  }
  std::vector<std::string> some(const std::vector<std::string>& known) {
    std::vector<std::string> names(in_.ConsumeIntegralInRange<size_t>(0, 3));
    for (std::string& name : names)
      name = odd() ? in_.ConsumeRandomLengthString(20) : one_of(known);
    return names;
  }
  LinkCall run_call() {
    const SessionCall what{
        .session = session(),
        .run = in_.ConsumeIntegralInRange(0, 3),
        .time_allowed = odd() ? in_.ConsumeIntegral<int64_t>() : kNoLimit,
        .traced = in_.ConsumeBool(),
        .feeds = some(model_.values),
        .fetches = some(model_.values),
        .targets = some(model_.nodes)};
    LinkCall call;
    call.body = what.encode();
    const size_t feeds =
        odd() ? in_.ConsumeIntegralInRange<size_t>(0, 4) : what.feeds.size();
    const std::vector<Shape> shapes = {{3, 2}, {}, {2, 2}, {0, 2}};
    for (size_t i = 0; i < feeds; ++i)
      call.tensors.push_back(Tensor::zeros(one_of(shapes)));
    return call;
  }

  FuzzedDataProvider& in_;
  const Model& model_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  FuzzedDataProvider in(data, bytes);
  static const Model model;
  Client client(in, model);
  std::optional<RunThreads> threads(std::in_place);
  SessionService service(
      [](Graph& graph, const ClusterSessionOptions& options,
         Deadline) -> Result<std::unique_ptr<Session>> {
        return std::make_unique<Session>(
            std::make_unique<FakeSession>(graph, options));
      },
      *threads, std::chrono::hours(1));
  std::atomic<int> asked = 0, answered = 0;
  auto serve = [&](LinkCall call, bool wait) {
    LinkServer::Answer answer = [&](const Result<LinkAnswer>&) {
      ++answered;
      answered.notify_all();
    };
    const uint64_t link = in.ConsumeIntegralInRange(1, 2);
    if (!service.serve(link, call, answer)) return;
    ++asked;
    for (int now = answered; wait && now < asked; now = answered)
      answered.wait(now);
  };
  auto create = [&] {
    ClusterSessionOptions options;
    // Rarely: it searches for long.
    if (in.ConsumeIntegral<uint8_t>() > 225)
      options.placement = PlacementKind::kCost;
    options.allow_soft_placement = in.ConsumeBool();
    options.bf16_transfers = in.ConsumeBool();
    client.sessions.push_back(
        service.create(options, Deadline::never()).value().session);
    serve(client.first_call(), true);
  };
  create();
  while (in.remaining_bytes() > 0) {
    switch (in.ConsumeIntegralInRange(0, 19)) {
      case 19: service.gone(in.ConsumeIntegralInRange(1, 2)); break;
      case 18: (void)service.close(client.session()).ok(); break;
      case 17: create(); break;
      case 16:
      case 15: serve(client.next_call(), false); break;
      // One after the other, so that calls meet what others made.
      default: serve(client.next_call(), true);
    }
  }
  threads.reset();  // calls are of the service, and end before it
  // Each is answered once.
  if (asked != answered) std::abort();
  return 0;
}
