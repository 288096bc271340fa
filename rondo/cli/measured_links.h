// The links between the hosts of a job, measured: for `rondo plan --measure`.
#pragma once

#include <optional>

#include "rondo/launch/launcher.h"
#include "rondo/planner/link_survey.h"
#include "rondo/rendezvous/job_env.h"

namespace rondo {

struct JobLinks {
  LinkSurvey survey;
  // The ranks of each host; empty where they are not numbered host by host.
  std::vector<int> on_hosts;
};

// In a job, on all of its ranks; the first of each host measures. Rank 0 gets
// the result.
Result<std::optional<JobLinks>> measure_job_links(const JobEnv& job);

// Starts a job of its own with a rank on each of these hosts, in the launcher's
// way. `launch` says how hosts are reached.
Result<LinkSurvey> measure_host_links(const std::vector<Host>& hosts,
                                      LaunchOptions launch);

}  // namespace rondo
