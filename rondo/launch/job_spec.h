// JobSpec: what one host's agent has to start.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"

namespace rondo {

// How long processes have between SIGTERM and SIGKILL.
inline constexpr Duration kTermTime = std::chrono::seconds(3);

struct JobSpec {
  std::vector<std::string> argv;  // the program and its arguments
  // Variables to set for every rank, on top of the agent's own environment.
  std::map<std::string, std::string> environment;
  std::string directory;  // to start in; empty: where the agent is
  // Whether a missing directory is an error, or the agent's own will do.
  bool directory_required = false;
  int first_rank = 0;
  int count = 1;
  int world_size = 1;
  Duration term_time = kTermTime;  // whole milliseconds travel
  // How often each process that a signal ended is started again.
  int restarts = 0;
  // Where they get a folder together that is removed with the job: its path is
  // their RONDO_SERVER_LOG. Empty: they get none.
  std::string scratch;
};

// Strings and numbers one after another, each string with its length; only
// decode_job_spec() of the same version reads it.
std::string encode_job_spec(const JobSpec& spec);
Result<JobSpec> decode_job_spec(std::string_view bytes);

}  // namespace rondo
