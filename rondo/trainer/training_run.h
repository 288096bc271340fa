// TrainingRun: one worker's way through the steps of a training.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rondo/trainer/checkpoints.h"
#include "rondo/trainer/crew.h"
#include "rondo/trainer/progress.h"
#include "rondo/trainer/scalar_log.h"
#include "rondo/trainer/step_looks.h"
#include "rondo/trainer/step_trace.h"
#include "rondo/trainer/stop_request.h"
#include "rondo/trainer/training_graph.h"
#include "rondo/trainer/training_report.h"
#include "rondo/trainer/worker_times.h"

namespace rondo {

// All workers do the same steps in the same order; what one of them learns that
// changes the others' way (a wish to end) travels with the news of each step.
// One thread.
class TrainingRun {
 public:
  // The data, the model and the strategy must outlive it. Throws where the
  // model cannot be built.
  TrainingRun(const TrainOptions& options, const ModelName& model,
              const TrainingData& data, const Strategy& strategy, Crew& crew);

  // New variables, or those of the last checkpoint.
  Status begin();
  // To the last step, or until somebody asks to end.
  Status steps();
  // What became of it; says where to go on when it was ended early.
  Status end();

 private:
  bool leads() const { return crew_.rank() == 0; }
  double rate() const;
  Status check_position(const Position& position) const;
  Status resume();
  Status one_step();
  // What to say of a step that failed: of one whose loss is no number, also
  // where that comes from.
  Status explained(const Status& failure, const Batch& batch);
  Status write_trace();
  void say_trace();
  // A failure to talk to the others. When all were asked to end, those who do
  // not wait for each other may have left already.
  Status unless_they_left(const Status& failure);
  // Takes what the workers said of the last step.
  Status settle();
  Status take(const StepNews& news);
  Status log(const StepNews& news);
  // Where all workers talk to each other: those that are late come to it.
  Status meet(const std::function<Status()>& talk);
  Status after_epoch();
  Status evaluate();
  Status save();
  ProgressNumbers numbers(const StepNews& news) const;
  Result<WorkerLine> line();
  Result<TrainingReport> report();

  const TrainOptions& options_;
  const ModelName& model_;
  const TrainingData& data_;
  const Strategy& strategy_;
  Crew& crew_;
  const StopRequest stop_;
  Batches batches_;
  const int64_t total_;  // steps
  TrainingGraph graph_;
  std::optional<Checkpoints> checkpoints_;
  Node* pull_slots_ = nullptr;  // what servers keep, before a checkpoint
  std::unique_ptr<Session> session_;
  std::unique_ptr<ScalarLog> log_;
  Progress progress_;
  WorkerTimes times_;
  StepLooks looks_;
  std::optional<StepTrace> trace_;
  const Clock::time_point started_ = Clock::now();
  int64_t first_ = 0;  // the step it began with
  int64_t step_ = 0;   // steps that are done
  int64_t saved_ = -1;
  std::string saved_as_;
  Status not_saved_;  // why the last checkpoint was not written
  Status not_traced_;
  std::string traced_as_;  // empty: there is no trace yet
  bool pending_ = false;   // whether news are under way
  bool stopping_ = false;
  std::optional<double> accuracy_;  // of the last test
};

}  // namespace rondo
