#include "rondo/trainer/trainer.h"

#include "rondo/base/attempt.h"
#include "rondo/base/env.h"
#include "rondo/train/strategy_name.h"
#include "rondo/trainer/same_data.h"
#include "rondo/trainer/training_run.h"

namespace rondo {
namespace {

std::string strategy_of_job() {
  return Env::process().get_or("RONDO_STRATEGY", "ring");
}

// What RONDO_STRATEGY says, with the options of this training.
Result<Strategy> join_strategy(const TrainOptions& options, int64_t rows) {
  const auto kind = parse_strategy(strategy_of_job());
  const bool is_hybrid = kind.ok() && *kind == StrategyKind::kHybrid;
  const bool is_ring = kind.ok() && *kind == StrategyKind::kRing;
  const DType wire = options.wire == "bf16" ? DType::kBF16 : DType::kF32;
  if (kind.ok() && needs_servers(*kind)) {
    RONDO_ASSIGN_OR_RETURN(auto servers,
                           ParameterServerOptions::from_env(Env::process()));
    servers.wire = wire;
    return Strategy::parameter_server(servers);
  }
  if (options.workers == 1 || !(is_ring || is_hybrid))
    return Strategy::from_env();
  HybridOptions hybrid;
  RingOptions& ring = hybrid.ring;
  ring.wire = wire;
  RONDO_ASSIGN_OR_RETURN(ring.factors.use, parse_factor_use(options.factors));
  ring.factors.rows = rows;
  RONDO_ASSIGN_OR_RETURN(ring.buckets.tune, tunes_buckets(Env::process()));
  if (options.tune_buckets) ring.buckets.tune = true;
  RONDO_ASSIGN_OR_RETURN(hybrid.server_share, server_share_of(Env::process()));
  if (is_hybrid) return Strategy::hybrid(hybrid);
  ring.group = RingOptions().group;
  return Strategy::ring(ring);
}

// The most rows that a product of the model has on a worker.
int64_t rows_of_products(const TrainOptions& options, const ModelName& model,
                         const TrainingData& data) {
  const int64_t each = model.rows ? model.rows(data) : 1;
  return options.batch / options.workers * each;
}

Result<TrainingData> load(const TrainOptions& options, const ModelName& model) {
  RONDO_ASSIGN_OR_RETURN(TrainingData data,
                         load_data(model.request(options.data)));
  RONDO_RETURN_IF_ERROR(fits(model, data));
  if (data.train.count() < options.batch || data.test.count() == 0)
    return error(Code::kInvalidArgument,
                 "--batch {}: {} has only {} examples to train on and {} to "
                 "test with",
                 options.batch, data.name, data.train.count(),
                 data.test.count());
  return data;
}

// A folder that has checkpoints of another training must not get more by
// accident.
Status check_folder(const TrainOptions& options) {
  if (options.checkpoint.empty() || options.resume) return {};
  RONDO_ASSIGN_OR_RETURN(const auto latest,
                         latest_checkpoint(options.checkpoint));
  if (!latest) return {};
  return error(Code::kInvalidArgument,
               "--checkpoint {}: {} is there already; --resume goes on from "
               "it, or give another folder",
               options.checkpoint, *latest);
}

Status with_advice(const TrainOptions& options, const Status& failure) {
  if (failure.code() != Code::kPeerLost || options.checkpoint.empty())
    return failure;
  return error(failure.code(),
               "{}\n  do: --resume goes on from the last checkpoint in {}",
               failure.message(), options.checkpoint);
}

}  // namespace

Status train(const TrainOptions& options) {
  RONDO_ASSIGN_OR_RETURN(const ModelName* model, find_model(options.model));
  RONDO_ASSIGN_OR_RETURN(Crew crew, Crew::join());
  TrainOptions own = options;
  own.workers = crew.size();
  Status ready = check(own);
  if (ready.ok())
    ready = check_travel(own, strategy_of_job()).with_context("RONDO_STRATEGY");
  if (ready.ok()) ready = check_backups(own, Env::process());
  if (ready.ok() && crew.rank() == 0) ready = check_folder(own);
  Result<TrainingData> data = ready.ok() ? load(own, *model) : ready;
  RONDO_RETURN_IF_ERROR(crew.agree(data.status()));
  RONDO_RETURN_IF_ERROR(check_same_data(crew, *data));
  RONDO_ASSIGN_OR_RETURN(
      Strategy strategy,
      join_strategy(own, rows_of_products(own, *model, *data)));
  if (strategy.size() != crew.size())
    return error(Code::kInvalidArgument,
                 "the strategy {} is for one process, and this job has {} "
                 "ranks: take ring, hybrid, ps, ps-async or ssp",
                 strategy.name(), crew.size());
  const Status status = attempt([&]() -> Status {
    TrainingRun run(own, *model, *data, strategy, crew);
    RONDO_RETURN_IF_ERROR(run.begin());
    RONDO_RETURN_IF_ERROR(run.steps());
    return run.end();
  });
  if (!status.ok()) strategy.abandon(status.message());
  return with_advice(own, status);
}

}  // namespace rondo
