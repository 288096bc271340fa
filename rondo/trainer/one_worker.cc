#include "rondo/trainer/one_worker.h"

#include "rondo/base/cores.h"
#include "rondo/graph/ops/state.h"
#include "rondo/trainer/training_graph.h"

namespace rondo {

Result<double> one_worker_rate(const TrainOptions& options,
                               const ModelName& model, const TrainingData& data,
                               const OneWorker& worker) {
  constexpr int kWarmSteps = 3;
  TrainingGraph graph(options, model, data, Strategy::single());
  Session session(graph.graph(), {.intra_op_threads = worker.threads});
  RONDO_RETURN_IF_ERROR(session.run(initializer(graph.graph())));
  Batches batches(data.train, data.kind, worker.batch,
                  static_cast<uint64_t>(options.seed));
  auto start = Clock::now();
  int64_t step = 0;
  for (;; ++step) {
    if (step == kWarmSteps) start = Clock::now();
    const double passed = to_seconds(Clock::now() - start);
    if (step > kWarmSteps && passed >= worker.seconds)
      return static_cast<double>((step - kWarmSteps) * worker.batch) / passed;
    RONDO_ASSIGN_OR_RETURN(const Batch batch, batches.share(step, 0, 1));
    RONDO_RETURN_IF_ERROR(graph.step(session, batch, options.rate()).status());
  }
}

Result<Comparison> compare_with_one_worker(const TrainOptions& options,
                                           const ModelName& model,
                                           const TrainingData& data,
                                           const OneWorker& worker) {
  Comparison than{.threads = worker.threads, .cores = available_cores()};
  RONDO_ASSIGN_OR_RETURN(than.same_threads,
                         one_worker_rate(options, model, data, worker));
  RONDO_ASSIGN_OR_RETURN(
      than.all_cores,
      one_worker_rate(options, model, data,
                      {.batch = options.batch, .threads = than.cores}));
  return than;
}

}  // namespace rondo
