#include "rondo/trainer/crew.h"

#include "rondo/rendezvous/job_env.h"
#include "rondo/train/merged_trace.h"

namespace rondo {

Result<Crew> Crew::join() {
  const Env env = Env::process();
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  Crew crew;
  crew.rank_ = job.rank;
  crew.size_ = job.size;
  if (job.size == 1) return crew;
  RONDO_ASSIGN_OR_RETURN(auto options, CommunicatorOptions::from_env(env));
  options.name = "crew";
  RONDO_ASSIGN_OR_RETURN(crew.comm_, Communicator::world(std::move(options)));
  return crew;
}

Status Crew::agree(const Status& mine) {
  if (size_ == 1) return mine;
  const double failed = mine.ok() ? 0 : 1;
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> all, gather({&failed, 1}));
  for (int rank = 0; rank < size_; ++rank) {
    if (all[static_cast<size_t>(rank)] == 0) continue;
    // One of them says what is wrong; mostly it is the same everywhere.
    if (rank == rank_) return mine;
    return error(Code::kCancelled, "rank {} could not go on", rank);
  }
  return {};
}

Status Crew::sum(std::span<double> values) {
  if (size_ == 1) return {};
  return comm_.allreduce(View(values));
}

Result<std::vector<double>> Crew::gather(std::span<const double> mine) {
  if (size_ == 1) return std::vector<double>(mine.begin(), mine.end());
  std::vector<double> all(mine.size() * static_cast<size_t>(size_));
  RONDO_RETURN_IF_ERROR(comm_.allgather(ConstView(mine), View(all)));
  return all;
}

Result<std::string> Crew::trace(const Timeline& mine) {
  if (size_ == 1) return trace_of(mine);
  return merged_trace(comm_, mine);
}

void Crew::begin(const StepNews& mine) {
  *news_ = {mine.loss, mine.right, mine.stop};
  if (size_ > 1)
    sending_ = comm_.allreduce_async(View(std::span<double>(*news_)),
                                     {.op = ReduceOp::kAvg});
}

Result<StepNews> Crew::finish() {
  if (size_ > 1) RONDO_RETURN_IF_ERROR(sending_.wait());
  return StepNews{(*news_)[0], (*news_)[1], (*news_)[2]};
}

}  // namespace rondo
