#include "rondo/cli/plan_check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "rondo/base/cores.h"
#include "rondo/launch/process.h"
#include "rondo/plan/units.h"
#include "rondo/planner/step_replay.h"

namespace rondo {
namespace {

// About what a core can send and receive, through all of the lab.
constexpr double kCoreRate = 0.5e9;

// A word of a shell's command.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// A file that is there for ranks to read, until this ends.
class JobFile {
 public:
  static Result<std::unique_ptr<JobFile>> write(const std::string& text) {
    std::string path =
        (std::filesystem::temp_directory_path() / "rondo-plan-XXXXXX").string();
    const Fd fd(mkstemp(path.data()));
    if (!fd.valid()) return errno_error(Code::kResource, errno, path);
    std::unique_ptr<JobFile> file(new JobFile(path));
    std::ofstream(path) << text;
    return file;
  }
  ~JobFile() { unlink(path_.c_str()); }
  JobFile(const JobFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit JobFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

std::string bits(double bytes_per_s) {
  return fmt::format("{:.0f}bit", 8 * bytes_per_s);
}

// The job in a lab that is there for it, before most of what the machine does
// otherwise: on hosts of its own it would have cores of its own. It is told to
// end with this process, however that does.
std::string lab_command(const std::string& rondo, const Method& method,
                        const Network& network, const std::string& file) {
  const std::string self = quoted(rondo);
  std::string command = fmt::format(
      "exec setpriv --pdeathsig TERM nice -n -10 {} lab with --name plan_{} "
      "--hosts {} --rate {}",
      self, getpid(), network.hosts + method.spare, bits(network.link));
  if (network.racks > 1)
    command += fmt::format(
        " --topology racks --uplink {}",
        bits(network.has_uplinks() ? network.uplink : network.link));
  return command + fmt::format(
                       " -- {} lab run -n {} --servers {} -- {} plan "
                       "--replay {} 2>&1",
                       self, network.workers, method.spare, self, quoted(file));
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
  if (network.most_on_a_host() != network.least_on_a_host())
    return error(Code::kInvalidArgument,
                 "--check needs equally many workers on all hosts");
  if (network.hosts * network.link > kCoreRate * available_cores())
    std::fprintf(stderr,
                 "rondo plan: %d hosts with links of %s are more than the "
                 "cores of this machine can feed; expect longer times than "
                 "predicted\n",
                 network.hosts, rate_text(network.link).c_str());
  return {};
}

Result<std::vector<CheckedMethod>> check_in_lab(const PlanReport& report,
                                                const std::string& names) {
  RONDO_ASSIGN_OR_RETURN(const std::string rondo, own_path());
  RONDO_ASSIGN_OR_RETURN(const auto methods, methods_to_check(report, names));
  RONDO_ASSIGN_OR_RETURN(auto checked, predict_lab(report, methods));
  const Network network = lab_network(report.network);
  for (CheckedMethod& one : checked) {
    const Method& method = one.method;
    std::fprintf(stderr, "rondo plan: %s in a lab, steps of about %s\n",
                 method.name().c_str(),
                 seconds_text(one.predicted.step).c_str());
    const auto job = ReplayJob::make(method, network, report.workload,
                                     report.options.step.stragglers);
    RONDO_ASSIGN_OR_RETURN(const auto file, JobFile::write(job.to_json()));
    RONDO_ASSIGN_OR_RETURN(
        const std::string said,
        output_of(lab_command(rondo, method, network, file->path())));
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
