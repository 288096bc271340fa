#include "rondo/launch/process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace rondo {
namespace {

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errno_error(Code::kResource, errno,
                       "cannot make a pipe (see ulimit -n)");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> assignments(
    const std::map<std::string, std::string>& environment) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment)
    variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

// All that the child needs, made before the fork: between fork and exec only
// async-signal-safe calls are allowed, since other threads may hold locks.
struct Plan {
  const SpawnOptions& options;
  pid_t parent;
  int in, out, err, report;
  char* const* argv;
  char* const* environment;
};

[[noreturn]] void run_child(const Plan& plan) {
  for (int signal : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool grouped =
      plan.options.new_session ? setsid() >= 0 : setpgid(0, 0) == 0;
  bool ok = grouped && dup2(plan.in, STDIN_FILENO) >= 0 &&
            dup2(plan.out, STDOUT_FILENO) >= 0 &&
            dup2(plan.err, STDERR_FILENO) >= 0 &&
            (plan.options.directory.empty() ||
             chdir(plan.options.directory.c_str()) == 0);
  if (ok && plan.options.death_signal != 0) {
    ok = prctl(PR_SET_PDEATHSIG, plan.options.death_signal) == 0;
    // The parent may have died before the signal was asked for.
    if (getppid() != plan.parent) _exit(127);
  }
  if (ok) execve(plan.options.path.c_str(), plan.argv, plan.environment);
  const int why = errno;
  [[maybe_unused]] ssize_t written = write(plan.report, &why, sizeof why);
  _exit(127);
}

// The errno of a failed exec; 0 once the exec closed the pipe.
int read_report(int fd) {
  int why = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  return got == sizeof why ? why : 0;
}

void set_nonblocking(const Fd& fd) {
  if (fd.valid())
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<Child> spawn(const SpawnOptions& options) {
  RONDO_ASSIGN_OR_RETURN(Pipe out, make_pipe());
  RONDO_ASSIGN_OR_RETURN(Pipe err, make_pipe());
  RONDO_ASSIGN_OR_RETURN(Pipe report, make_pipe());
  Pipe in;
  if (options.pipe_stdin) {
    RONDO_ASSIGN_OR_RETURN(in, make_pipe());
  } else {
    in.read = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!in.read.valid())
      return errno_error(Code::kResource, errno, "cannot open /dev/null");
  }
  std::vector<std::string> words = options.argv;
  std::vector<std::string> variables = assignments(options.environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const Plan plan{options,         getpid(),          in.read.get(),
                  out.write.get(), err.write.get(),   report.write.get(),
                  argv.data(),     environment.data()};

  const pid_t pid = fork();
  if (pid < 0)
    return errno_error(Code::kResource, errno,
                       "cannot start a process (see ulimit -u)");
  if (pid == 0) run_child(plan);
  // In the child too; whoever comes first, the group exists before anybody
  // signals it.
  if (!options.new_session) setpgid(pid, pid);
  report.write.reset();
  if (const int why = read_report(report.read.get()); why != 0) {
    waitpid(pid, nullptr, 0);
    return errno_error(Code::kPermission, why,
                       fmt::format("cannot execute '{}'", options.path));
  }
  set_nonblocking(in.write);
  set_nonblocking(out.read);
  set_nonblocking(err.read);
  return Child{pid, std::move(in.write), std::move(out.read),
               std::move(err.read)};
}

Status execute(const std::string& path, std::vector<std::string> argv,
               const std::map<std::string, std::string>& environment) {
  std::vector<std::string> variables = assignments(environment);
  execve(path.c_str(), pointers(argv).data(), pointers(variables).data());
  return errno_error(Code::kPermission, errno,
                     fmt::format("cannot execute '{}'", path));
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

void ensure_standard_streams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Result<std::string> own_path() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0)
    return errno_error(Code::kUnavailable, errno, "cannot read /proc/self/exe");
  path.resize(static_cast<size_t>(length));
  return path;
}

std::string describe_exit(int wait_status) {
  if (!WIFSIGNALED(wait_status))
    return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigdescr_np(signal);
  return fmt::format("was killed by signal {} ({})", signal,
                     name != nullptr ? name : "unknown");
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

}  // namespace rondo
