#include "rondo/cli/measured_links.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "rondo/base/env.h"
#include "rondo/cli/command.h"
#include "rondo/collectives/communicator.h"
#include "rondo/planner/link_probe.h"

namespace rondo {
namespace {

// What this process writes to its standard output meanwhile, kept in memory.
class KeptOutput {
 public:
  static Result<KeptOutput> begin() {
    KeptOutput made;
    std::fflush(stdout);
    made.file_ = Fd(memfd_create("output", MFD_CLOEXEC));
    made.before_ = Fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!made.file_.valid() || !made.before_.valid() ||
        dup2(made.file_.get(), STDOUT_FILENO) < 0)
      return errno_error(Code::kResource, errno,
                         "cannot keep the output of a job (see ulimit -n)");
    return made;
  }
  KeptOutput(KeptOutput&&) = default;
  KeptOutput& operator=(KeptOutput&&) = delete;
  ~KeptOutput() { end(); }

  // The process writes where it did before.
  std::string end() {
    if (!before_.valid()) return {};
    std::fflush(stdout);
    dup2(before_.get(), STDOUT_FILENO);
    before_.reset();
    std::string text;
    char piece[4096];
    for (off_t at = 0;;) {
      const ssize_t got = pread(file_.get(), piece, sizeof piece, at);
      if (got <= 0) return text;
      text.append(piece, static_cast<size_t>(got));
      at += got;
    }
  }

 private:
  KeptOutput() = default;
  Fd file_, before_;
};

// One rank of a job that measures its links; rank 0 prints them.
Result<int> print_job_links() {
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  RONDO_ASSIGN_OR_RETURN(const auto links, measure_job_links(job));
  if (links) std::printf("%s\n", to_json(links->survey).c_str());
  return 0;
}

// Ranks of each host, by their numbers there; empty: not host by host.
std::vector<int> on_hosts(const std::vector<int64_t>& local_ranks) {
  std::vector<int> counts;
  for (const int64_t local : local_ranks) {
    if (local == 0)
      counts.push_back(0);
    else if (counts.empty() || local != counts.back())
      return {};
    ++counts.back();
  }
  return counts;
}

}  // namespace

Result<std::optional<JobLinks>> measure_job_links(const JobEnv& job) {
  RONDO_ASSIGN_OR_RETURN(auto options,
                         CommunicatorOptions::from_env(Env::process()));
  options.transport = "tcp";
  options.algorithm = "auto";
  RONDO_ASSIGN_OR_RETURN(auto world, Communicator::world(options));
  std::vector<int64_t> local_ranks(static_cast<size_t>(world.size()));
  local_ranks[static_cast<size_t>(world.rank())] = job.local_rank;
  RONDO_RETURN_IF_ERROR(world.allreduce(local_ranks));
  std::optional<JobLinks> links;
  if (std::ranges::count(local_ranks, 0) < 2) {
    if (job.rank != 0) return links;
    return error(Code::kInvalidArgument,
                 "--measure: all ranks of this job are on one host, so there "
                 "is no link to measure; start it on several, or leave "
                 "--measure out");
  }
  RONDO_ASSIGN_OR_RETURN(auto first, world.split(job.local_rank == 0 ? 0 : -1));
  if (first.valid()) {
    RONDO_ASSIGN_OR_RETURN(LinkSurvey survey, probe_links(first));
    links = JobLinks{std::move(survey), on_hosts(local_ranks)};
  }
  RONDO_RETURN_IF_ERROR(world.barrier());
  if (job.rank != 0) links.reset();
  return links;
}

Result<LinkSurvey> measure_host_links(const std::vector<Host>& hosts,
                                      LaunchOptions launch) {
  std::vector<Host> once;
  for (const Host& host : hosts) once.push_back({host.name, 1});
  RONDO_ASSIGN_OR_RETURN(launch.hosts, assign_ranks(once, 0));
  launch.prefix = false;
  // On every host, of the agent that starts it.
  launch.argv = {"/proc/self/exe", "probe-links"};
  RONDO_ASSIGN_OR_RETURN(KeptOutput output, KeptOutput::begin());
  const Result<int> code = run_job(launch);
  const std::string text = output.end();
  RONDO_RETURN_IF_ERROR(code.status());
  if (*code != 0)
    return error(Code::kUnavailable,
                 "--measure: the links could not be measured, for the reason "
                 "above; mend that, or give --link and --latency instead");
  RONDO_ASSIGN_OR_RETURN(LinkSurvey survey, parse_link_survey(text));
  // As the user calls them.
  for (size_t i = 0; i < std::min(once.size(), survey.hosts.size()); ++i)
    survey.hosts[i] = once[i].name;
  return survey;
}

// Not for people.
void add_probe_links_command(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("probe-links", "Measure links for a rondo plan");
  command->group("");  // not in the help
  command->callback([&line] {
    line.action = [] {
      const Result<int> code = print_job_links();
      if (code.ok()) return *code;
      std::fprintf(stderr, "rondo plan: %s\n", code.status().message().c_str());
      return 1;
    };
  });
}

}  // namespace rondo
