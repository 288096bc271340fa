// StepReplay: a rank that does what a step of a workload makes it do, except
// for the computation, during which it waits.
//
// So a machine with few cores can be many hosts: what a step sends and when is
// as in training, and the exchanges are the strategies' own.
#pragma once

#include "rondo/base/env.h"
#include "rondo/planner/replay_job.h"

namespace rondo {

// As a rank of the job that the environment tells of. Collective.
Result<ReplayTimes> replay(const Env& env, const ReplayJob& job);

}  // namespace rondo
