#include "rondo/trainer/training_run.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rondo/base/cores.h"
#include "rondo/trainer/one_worker.h"

namespace rondo {
namespace {

constexpr int64_t kTestRows = 250;  // at once

const char* unit_of(const TrainingData& data) {
  return data.kind == ExampleKind::kText ? "texts" : "images";
}

ProgressOptions progress_options(const TrainOptions& options, int64_t steps,
                                 const TrainingData& data, int workers) {
  return {.steps = steps,
          .log_every = options.log_every,
          .columns = options.columns,
          .unit = unit_of(data),
          .workers = workers > 1};
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options, const ModelName& model,
                         const TrainingData& data, const Strategy& strategy,
                         Crew& crew)
    : options_(options),
      model_(model),
      data_(data),
      strategy_(strategy),
      crew_(crew),
      batches_(data.train, data.kind, options.batch,
               static_cast<uint64_t>(options.seed)),
      total_(options.steps > 0 ? options.steps
                               : options.epochs * batches_.steps_per_epoch()),
      graph_(options, model, data, strategy),
      progress_(progress_options(options, total_, data, crew.size()), stdout) {
  if (!options.checkpoint.empty()) {
    pull_slots_ = &strategy.pull_slots(graph_.graph());
    checkpoints_.emplace(graph_.graph(), options.checkpoint);
  }
  session_ = std::make_unique<Session>(graph_.graph());
}

Status TrainingRun::begin() {
  RONDO_RETURN_IF_ERROR(session_->run(strategy_.initializer(graph_.graph())));
  if (options_.resume) RONDO_RETURN_IF_ERROR(resume());
  Status opened;
  if (leads() && !options_.logdir.empty()) {
    auto log = ScalarLog::open(options_.logdir);
    if (log.ok())
      log_ = std::move(*log);
    else
      opened = log.status().with_context("--logdir");
  }
  RONDO_RETURN_IF_ERROR(crew_.agree(opened));
  if (options_.trace.empty() || first_ == total_) return {};
  RONDO_ASSIGN_OR_RETURN(const StepRange steps,
                         traced_steps(options_.trace_steps, total_ - first_));
  trace_.emplace(options_.trace, steps);
  return {};
}

Status TrainingRun::check_position(const Position& position) const {
  if (position.batch == options_.batch && position.seed == options_.seed)
    return {};
  return error(Code::kInvalidArgument,
               "the checkpoint in {} is of a training with --batch {} --seed "
               "{}: give the same, or another folder",
               options_.checkpoint, position.batch, position.seed);
}

// Rank 0 alone needs the files.
Status TrainingRun::resume() {
  double restored = 0;
  const auto read = [&]() -> Status {
    if (!leads()) return {};
    RONDO_ASSIGN_OR_RETURN(const auto latest, checkpoints_->latest());
    if (!latest) {
      progress_.say(fmt::format("no checkpoint in {} yet: starting from step 0",
                                options_.checkpoint));
      return {};
    }
    RONDO_RETURN_IF_ERROR(checkpoints_->restore(*session_, *latest));
    RONDO_ASSIGN_OR_RETURN(const Position position,
                           checkpoints_->position(*session_));
    RONDO_RETURN_IF_ERROR(check_position(position));
    restored = 1;
    saved_ = position.step;
    saved_as_ = *latest;
    progress_.say(fmt::format("resumed {} at step {}", *latest, position.step));
    return {};
  };
  RONDO_RETURN_IF_ERROR(crew_.agree(read()));
  RONDO_RETURN_IF_ERROR(crew_.sum({&restored, 1}));
  if (restored == 0) return {};
  RONDO_RETURN_IF_ERROR(session_->run(strategy_.broadcast(graph_.graph())));
  RONDO_ASSIGN_OR_RETURN(const Position position,
                         checkpoints_->position(*session_));
  first_ = step_ = position.step;
  return {};
}

double TrainingRun::rate() const {
  if (options_.decay == "none") return options_.rate();
  const double done = static_cast<double>(step_) / static_cast<double>(total_);
  return options_.rate() * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

Status TrainingRun::steps() {
  while (step_ < total_ && !stopping_) {
    RONDO_RETURN_IF_ERROR(one_step());
    if (trace_ && trace_->ends_with(step_ - first_))
      RONDO_RETURN_IF_ERROR(write_trace());
    const bool epoch_ends =
        step_ % batches_.steps_per_epoch() == 0 || step_ == total_;
    const bool save_due =
        options_.save_every > 0 && step_ % options_.save_every == 0;
    if (stopping_ || !(epoch_ends || save_due)) continue;
    RONDO_RETURN_IF_ERROR(settle());
    if (stopping_) break;
    if (epoch_ends) RONDO_RETURN_IF_ERROR(after_epoch());
    if (save_due || options_.save_every == 0) RONDO_RETURN_IF_ERROR(save());
  }
  RONDO_RETURN_IF_ERROR(settle());
  return save();
}

Status TrainingRun::one_step() {
  const auto start = Clock::now();
  RONDO_ASSIGN_OR_RETURN(const Batch batch,
                         batches_.share(step_, crew_.rank(), crew_.size()));
  const auto made = Clock::now();
  const int64_t number = step_ - first_ + 1;
  const bool traced = trace_ && trace_->contains(number);
  const bool look = crew_.size() > 1 && StepLooks::due(number - 1);
  std::optional<Timeline> own;
  if (look && !traced) own.emplace();
  const auto stepped = graph_.step(*session_, batch, rate(),
                                   traced ? &trace_->timeline()
                                   : own  ? &*own
                                          : nullptr);
  if (!stepped.ok()) return explained(stepped.status(), batch);
  const Score& score = *stepped;
  const auto end = Clock::now();
  times_.add(made - start, end - made);
  if (look)
    times_.add_waiting(
        looks_.add(own ? own->events() : trace_->events_since(made)));
  if (traced) trace_->add(number, start, made, end);
  const StepNews news = {score.loss, score.right, stop_.came() ? 1.0 : 0.0};
  // Workers that do not wait for each other have no news of common steps.
  if (!strategy_.in_step()) {
    ++step_;
    return take(news);
  }
  RONDO_RETURN_IF_ERROR(settle());
  ++step_;
  crew_.begin(news);
  pending_ = true;
  return {};
}

Status TrainingRun::explained(const Status& failure, const Batch& batch) {
  if (failure.code() != Code::kInvalidArgument) return failure;
  const auto origin = graph_.not_finite_origin(*session_, batch);
  if (!origin.ok() || *origin == nullptr) return failure;
  std::string inputs;  // among them the layer's variables
  for (const Value& input : (*origin)->inputs())
    inputs += fmt::format("{}{}", inputs.empty() ? " of " : ", ", input.name());
  return error(Code::kInvalidArgument,
               "the loss is no number at step {}: training stops; NaN or "
               "infinity comes from {}{}; a lower --lr than {} may help",
               step_ + 1, (*origin)->describe(), inputs, options_.rate());
}

Status TrainingRun::unless_they_left(const Status& failure) {
  if (!stop_.came() || strategy_.in_step()) return failure;
  stopping_ = true;
  return {};
}

// A trace that cannot be written does not end a training.
Status TrainingRun::write_trace() {
  RONDO_RETURN_IF_ERROR(settle());
  if (stopping_) return {};
  std::string text;
  RONDO_RETURN_IF_ERROR(meet([&]() -> Status {
    RONDO_ASSIGN_OR_RETURN(text, crew_.trace(trace_->timeline()));
    return {};
  }));
  if (stopping_ || !leads()) return {};
  not_traced_ = trace_->write(text);
  if (not_traced_.ok())
    traced_as_ = fmt::format("{} (steps {} to {})", trace_->path(),
                             trace_->steps().first, trace_->steps().last);
  else
    progress_.say(not_traced_.message());
  return {};
}

Status TrainingRun::meet(const std::function<Status()>& talk) {
  const auto met = [&]() -> Status {
    RONDO_RETURN_IF_ERROR(strategy_.pause());
    RONDO_RETURN_IF_ERROR(talk());
    return strategy_.resume();
  };
  const Status status = met();
  return status.ok() ? status : unless_they_left(status);
}

Status TrainingRun::settle() {
  if (!pending_) return {};
  pending_ = false;
  RONDO_ASSIGN_OR_RETURN(const StepNews news, crew_.finish());
  return take(news);
}

Status TrainingRun::take(const StepNews& news) {
  if (news.stop > 0) stopping_ = true;
  if (!leads()) return {};
  return log(news);
}

Status TrainingRun::log(const StepNews& news) {
  if (log_) {
    RONDO_RETURN_IF_ERROR(log_->add("loss", news.loss, step_));
    RONDO_RETURN_IF_ERROR(log_->add("accuracy", news.right, step_));
  }
  if (!stopping_ && progress_.due(step_)) progress_.show(numbers(news));
  return {};
}

ProgressNumbers TrainingRun::numbers(const StepNews& news) const {
  ProgressNumbers now{.step = step_,
                      .loss = news.loss,
                      .right = news.right,
                      .waiting = times_.waiting_share()};
  if (times_.seconds() > 0) {
    const double per_second =
        static_cast<double>(times_.steps()) / times_.seconds();
    now.per_second = per_second * static_cast<double>(options_.batch);
    now.seconds_left = static_cast<double>(total_ - step_) / per_second;
  }
  return now;
}

Status TrainingRun::after_epoch() {
  RONDO_RETURN_IF_ERROR(evaluate());
  if (log_ && times_.seconds() > 0)
    return log_->add(fmt::format("{}_per_second", unit_of(data_)),
                     numbers({}).per_second, step_);
  return {};
}

// Each worker tests its share of the test examples.
Status TrainingRun::evaluate() {
  const int64_t count = data_.test.count();
  const int64_t first = count * crew_.rank() / crew_.size();
  const int64_t last = count * (crew_.rank() + 1) / crew_.size();
  std::array<double, 2> sums{};
  for (int64_t row = first; row < last; row += kTestRows) {
    const int64_t end = std::min(row + kTestRows, last);
    RONDO_ASSIGN_OR_RETURN(const Batch batch,
                           make_batch(data_.test, data_.kind, row, end));
    RONDO_ASSIGN_OR_RETURN(const Score score, graph_.test(*session_, batch));
    sums[0] += score.loss * static_cast<double>(end - row);
    sums[1] += score.right * static_cast<double>(end - row);
  }
  RONDO_RETURN_IF_ERROR(meet([&] { return crew_.sum(sums); }));
  if (stopping_) return {};
  const double loss = sums[0] / static_cast<double>(count);
  accuracy_ = sums[1] / static_cast<double>(count);
  if (!leads()) return {};
  progress_.say(fmt::format(
      "epoch {:.4g}, step {}: test loss {:.6f}, test accuracy {:.2f} %",
      static_cast<double>(step_) /
          static_cast<double>(batches_.steps_per_epoch()),
      step_, loss, 100 * *accuracy_));
  if (!log_) return {};
  RONDO_RETURN_IF_ERROR(log_->add("test_loss", loss, step_));
  return log_->add("test_accuracy", *accuracy_, step_);
}

// A full disk does not end a training: the checkpoint before is still there,
// and the next one may find room.
Status TrainingRun::save() {
  if (!checkpoints_ || !leads() || saved_ == step_) return {};
  RONDO_RETURN_IF_ERROR(session_->run(*pull_slots_));
  auto saved = checkpoints_->save(
      *session_,
      {.step = step_, .batch = options_.batch, .seed = options_.seed});
  not_saved_ = saved.status();
  if (!saved.ok()) {
    progress_.say(fmt::format(
        "no checkpoint of step {}: {}; {}", step_, saved.status().message(),
        saved_ < 0 ? std::string("there is none yet")
                   : fmt::format("the last one is of step {}", saved_)));
    return {};
  }
  saved_ = step_;
  saved_as_ = *saved;
  return {};
}

// Shares of this worker's time.
Result<WorkerLine> TrainingRun::line() {
  WorkerLine mine{.input = times_.input_share(), .looked = looks_.any()};
  if (times_.seconds() > 0)
    mine.per_second = static_cast<double>(times_.steps() * options_.batch) /
                      (crew_.size() * times_.seconds());
  RONDO_ASSIGN_OR_RETURN(const WaitShares waits,
                         looks_.divided(crew_, strategy_.in_step()));
  // Looks are at steps, without their input.
  const double steps = 1 - mine.input;
  mine.communication = waits.communication * steps;
  for (const double share : waits.for_worker)
    mine.for_worker.push_back(share * steps);
  mine.for_worker.resize(static_cast<size_t>(crew_.size()));
  return mine;
}

Result<TrainingReport> TrainingRun::report() {
  TrainingReport report{.strategy = strategy_.name(),
                        .threads = share_of_cores(),
                        .steps = step_ - first_,
                        .accuracy = accuracy_,
                        .travels = strategy_.travels(),
                        .buckets = strategy_.bucket_choices(),
                        .checkpoint = saved_as_,
                        .summary = options_.logdir,
                        .trace = traced_as_};
  RONDO_ASSIGN_OR_RETURN(const WorkerLine mine, line());
  std::vector<double> numbers = {mine.per_second, mine.input,
                                 mine.communication, mine.looked ? 1.0 : 0.0};
  const size_t own = numbers.size();
  numbers.insert(numbers.end(), mine.for_worker.begin(), mine.for_worker.end());
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> all, crew_.gather(numbers));
  for (auto at = all.begin(); at != all.end(); at += numbers.size())
    report.workers.push_back(
        {at[0], at[1], at[2], {at + own, at + numbers.size()}, at[3] > 0});
  report.seconds = to_seconds(Clock::now() - started_);
  return report;
}

// Of a run that was ended early.
void TrainingRun::say_trace() {
  if (!traced_as_.empty())
    progress_.say(fmt::format("trace: {}", traced_as_));
  else if (not_traced_.ok())
    progress_.say(fmt::format("no trace: {} is written after step {}",
                              trace_->path(), first_ + trace_->steps().last));
}

Status TrainingRun::end() {
  if (log_) RONDO_RETURN_IF_ERROR(log_->close());
  if (stopping_) {
    if (leads())
      progress_.say(fmt::format(
          "stopped at step {} of {}{}", step_, total_,
          saved_ == step_
              ? fmt::format("; checkpoint {}: --resume goes on", saved_as_)
              : std::string()));
    if (leads() && trace_) say_trace();
    return not_saved_.ok() ? not_traced_ : not_saved_;
  }
  RONDO_ASSIGN_OR_RETURN(TrainingReport report, this->report());
  if (!leads()) return {};
  if (options_.speedup && step_ > first_) {
    RONDO_ASSIGN_OR_RETURN(
        report.comparison,
        compare_with_one_worker(options_, model_, data_,
                                {.batch = options_.batch / crew_.size(),
                                 .threads = report.threads}));
  }
  progress_.say(report_text(options_, report, unit_of(data_)));
  return not_saved_.ok() ? not_traced_ : not_saved_;
}

}  // namespace rondo
