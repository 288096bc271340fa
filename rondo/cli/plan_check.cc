#include "rondo/cli/plan_check.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "rondo/base/cores.h"
#include "rondo/base/units.h"
#include "rondo/launch/process.h"
#include "rondo/planner/step_replay.h"

namespace rondo {
namespace {

// About what a core can send and receive, through all of the lab.
constexpr double kCoreRate = 0.5e9;

// A file without a name, for ranks to read: nothing is left of it when those
// that have it open end, however they do.
class JobFile {
 public:
  static Result<JobFile> write(const std::string& text) {
    Fd fd(memfd_create("rondo-plan", MFD_CLOEXEC));
    if (!fd.valid()) return errno_error(Code::kResource, errno, "memfd_create");
    JobFile file(std::move(fd));
    std::ofstream out(file.path());
    out << text;
    out.flush();
    if (!out)
      return error(Code::kResource, "no memory for a job of {} bytes",
                   text.size());
    return file;
  }
  // For processes of this machine, while this is there.
  std::string path() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
  }

 private:
  explicit JobFile(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

std::string bits(double bytes_per_s) {
  return fmt::format("{:.0f}bit", 8 * bytes_per_s);
}

// The racks as the network has them, without a limit between them where that
// has none.
std::string rack_options(const Method& method, const Network& network) {
  if (network.racks == 1) return "";
  return fmt::format(
      " --topology racks --first-rack {} --uplink {}",
      hosts_of_first_rack(network, method.spare_machines()),
      network.has_uplinks() ? bits(network.uplink) : std::string("none"));
}

// The job in a lab that is there for it, before most of what the machine does
// otherwise: on hosts of its own it would have cores of its own. It is told to
// end with this process, however that does. The file is standard input on the
// whole way, since hosts see neither this process nor its descriptors.
std::string lab_command(const std::string& rondo, const Method& method,
                        const Network& network, const JobFile& file) {
  const std::string self = shell_quoted(rondo);
  return fmt::format(
      "exec setpriv --pdeathsig TERM nice -n -10 {} lab with --name plan_{} "
      "--hosts {} --rate {}{} -- {} lab run -n {} --servers {}{} "
      "--input /dev/stdin -- {} plan --replay /dev/stdin <{} 2>&1",
      self, getpid(), network.hosts + method.spare_machines(),
      bits(network.link), rack_options(method, network), self, network.workers,
      method.spare, method.beside ? " --beside" : "", self, file.path());
}

void warn_of_few_cores(const Network& network) {
  if (network.hosts * network.link <= kCoreRate * available_cores()) return;
  std::fprintf(stderr,
               "rondo plan: %d hosts with links of %s are more than the cores "
               "of this machine can feed; expect longer times than predicted\n",
               network.hosts, rate_text(network.link).c_str());
}

// What the command prints; an error with the last of it where it fails.
Result<std::string> output_of(const std::string& command) {
  // NOLINTNEXTLINE(bugprone-command-processor): its words are quoted
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return errno_error(Code::kResource, errno, "popen");
  std::string text;
  std::array<char, 4096> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), count);
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  constexpr size_t kShown = 2000;
  return error(Code::kUnavailable, "the lab failed: {}",
               text.size() > kShown ? text.substr(text.size() - kShown) : text);
}

// Rank 0's line among those of all.
Result<ReplayTimes> times_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0: {")) return ReplayTimes::from_json(line.substr(3));
  return error(Code::kInternal, "the lab's rank 0 said nothing: {}", text);
}

}  // namespace

Status can_check(const Network& network) {
  if (geteuid() != 0)
    return error(Code::kPermission,
                 "--check starts hosts in a lab, which needs root; try: sudo "
                 "rondo plan ... --check");
  if (network.workers < 2 || network.hosts < 2)
    return error(Code::kInvalidArgument,
                 "--check is about links; take --hosts 2 or more");
  if (network.hosts > kMostHostsOfALab || network.racks > 2)
    return error(
        Code::kInvalidArgument,
        "--check has all hosts on this machine: {} of them and 2 racks "
        "at most",
        kMostHostsOfALab);
  constexpr double kLeastRate = 1e3 / 8, kMostRate = 1e12 / 8;
  for (const double rate : {network.link, network.uplink})
    if (rate > kMostRate || (rate > 0 && rate < kLeastRate))
      return error(Code::kInvalidArgument,
                   "--check has links of 1 kbit/s to 1 Tbit/s, not of {}",
                   rate_text(rate));
  if (network.most_on_a_host() != network.least_on_a_host())
    return error(Code::kInvalidArgument,
                 "--check needs equally many workers on all hosts");
  return {};
}

Result<std::vector<CheckedMethod>> check_in_lab(const PlanReport& report,
                                                std::span<const Method> methods,
                                                int64_t rounds) {
  RONDO_ASSIGN_OR_RETURN(const std::string rondo, own_path());
  RONDO_ASSIGN_OR_RETURN(auto checked, predict_lab(report, methods));
  const Network network = lab_network(report.network);
  warn_of_few_cores(report.network);
  for (CheckedMethod& one : checked) {
    const Method& method = one.method;
    std::fprintf(stderr, "rondo plan: %s in a lab, steps of about %s\n",
                 method.name().c_str(),
                 seconds_text(one.predicted.step).c_str());
    auto job = ReplayJob::make(method, network, report.workload,
                               report.options.step.stragglers);
    job.rounds = static_cast<int>(rounds);
    RONDO_ASSIGN_OR_RETURN(const auto file, JobFile::write(job.to_json()));
    RONDO_ASSIGN_OR_RETURN(
        const std::string said,
        output_of(lab_command(rondo, method, network, file)));
    RONDO_ASSIGN_OR_RETURN(one.measured, times_in(said));
  }
  return checked;
}

Status replay_file(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  RONDO_ASSIGN_OR_RETURN(const ReplayJob job, ReplayJob::from_json(text.str()));
  const Env env = Env::process();
  RONDO_ASSIGN_OR_RETURN(const ReplayTimes times, replay(env, job));
  if (env.get("RONDO_RANK") == "0")
    std::printf("%s\n", times.to_json().c_str());
  return {};
}

}  // namespace rondo
