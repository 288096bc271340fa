#include "rondo/trainer/train_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "rondo/train/strategy_name.h"
#include "rondo/trainer/data_source.h"
#include "rondo/trainer/model.h"
#include "rondo/trainer/optimizer_name.h"
#include "rondo/trainer/step_trace.h"

namespace rondo {
namespace {

Status one_of(std::string_view option, std::string_view value,
              std::initializer_list<std::string_view> known) {
  if (std::ranges::find(known, value) != known.end()) return {};
  return error(Code::kInvalidArgument, "{} {}: there are {}", option, value,
               fmt::join(known, ", "));
}

Status check_strategy(const TrainOptions& options) {
  if (options.strategy.empty() && options.servers == 0) return {};
  const auto kind = parse_strategy(options.strategy);
  if (!kind.ok()) return kind.status().with_context("--strategy");
  if (options.servers < 0 ||
      (options.servers > 0 ? !takes_servers(*kind) : needs_servers(*kind)))
    return error(Code::kInvalidArgument,
                 "--strategy {} --servers {}: ps, ps-async and ssp take one "
                 "server or more, hybrid any number, the others none",
                 options.strategy, options.servers);
  if (*kind == StrategyKind::kSingle && options.workers > 1)
    return error(Code::kInvalidArgument,
                 "--strategy single trains with one worker, and -n is {}",
                 options.workers);
  return check_travel(options, options.strategy);
}

Status check_numbers(const TrainOptions& options) {
  if (options.batch < 1 || options.batch % options.workers != 0)
    return error(Code::kInvalidArgument,
                 "--batch {}: the batch is that of all workers together, and "
                 "must be a multiple of -n, {}",
                 options.batch, options.workers);
  if (options.epochs < 1)
    return error(Code::kInvalidArgument, "--epochs {}: expected 1 or more",
                 options.epochs);
  if (options.steps < 0 || options.save_every < 0 || options.log_every < 0)
    return error(Code::kInvalidArgument,
                 "--steps, --save-every and --log-every take numbers from 0");
  // Not `< 0`, which lets NaN pass.
  if (!(options.lr >= 0 && options.lr < 1e9))
    return error(Code::kInvalidArgument,
                 "--lr {}: expected a number above 0, such as 0.05",
                 options.lr);
  return {};
}

Status check_trace(const TrainOptions& options) {
  if (options.trace_steps.empty()) return {};
  if (options.trace.empty())
    return error(Code::kInvalidArgument,
                 "--trace-steps needs --trace FILE, where they go");
  return parse_step_range(options.trace_steps).status();
}

}  // namespace

double TrainOptions::rate() const {
  if (lr > 0) return lr;
  const OptimizerName* known = find_optimizer(optimizer);
  return known != nullptr ? known->rate : 0.01;
}

Status check_travel(const TrainOptions& options, const std::string& strategy) {
  RONDO_ASSIGN_OR_RETURN(const StrategyKind kind, parse_strategy(strategy));
  if (kind == StrategyKind::kRing || kind == StrategyKind::kHybrid) return {};
  const auto refuse = [&](const std::string& option) {
    return error(Code::kInvalidArgument,
                 "{} is for --strategy ring or hybrid, not {}", option,
                 strategy);
  };
  if (options.wire != "fp32" && !needs_servers(kind))
    return error(Code::kInvalidArgument,
                 "--wire {} is for strategies of several workers, not {}",
                 options.wire, strategy);
  if (options.factors == "on") return refuse("--factors on");
  if (options.tune_buckets) return refuse("--tune-buckets");
  return {};
}

Status check_backups(const TrainOptions& options, const Env& env) {
  const std::string strategy = options.strategy.empty()
                                   ? env.get_or("RONDO_STRATEGY", "ring")
                                   : options.strategy;
  RONDO_ASSIGN_OR_RETURN(const StrategyKind kind, parse_strategy(strategy));
  if (!options.backup) return backup_of(env, kind, options.workers).status();
  return check_backup(fmt::format("--backup {}", *options.backup),
                      *options.backup, kind, options.workers);
}

Status check(const TrainOptions& options) {
  RONDO_ASSIGN_OR_RETURN(const ModelName* model, find_model(options.model));
  if (options.data.empty())
    return error(Code::kInvalidArgument,
                 "say what to train on: --data fashion-mnist, cifar10, "
                 "synthetic, or a path");
  if (find_optimizer(options.optimizer) == nullptr)
    return error(Code::kInvalidArgument, "--optimizer {}: there are {}",
                 options.optimizer, optimizer_names());
  RONDO_RETURN_IF_ERROR(one_of("--decay", options.decay, {"none", "cosine"}));
  RONDO_RETURN_IF_ERROR(
      one_of("--precision", options.precision, {"fp32", "bf16"}));
  RONDO_RETURN_IF_ERROR(one_of("--wire", options.wire, {"fp32", "bf16"}));
  RONDO_RETURN_IF_ERROR(
      one_of("--factors", options.factors, {"auto", "on", "off"}));
  RONDO_RETURN_IF_ERROR(check_numbers(options));
  RONDO_RETURN_IF_ERROR(check_trace(options));
  RONDO_RETURN_IF_ERROR(check_strategy(options));
  if (options.resume && options.checkpoint.empty())
    return error(Code::kInvalidArgument,
                 "--resume needs --checkpoint DIR, where to go on from");
  return find_data(model->request(options.data));
}

}  // namespace rondo
