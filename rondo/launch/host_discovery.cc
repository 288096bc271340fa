#include "rondo/launch/host_discovery.h"

#include <signal.h>
#include <sys/wait.h>

#include <optional>

#include "rondo/launch/descendants.h"
#include "rondo/launch/read_ready.h"
#include "rondo/launch/signals.h"

namespace rondo {
namespace {

// Of a list of hosts nothing is longer; what follows is not kept.
constexpr size_t kMaxText = size_t{1} << 20;

}  // namespace

Result<std::vector<Host>> HostDiscovery::ask(
    const HostDiscoveryOptions& options, Warn warn) {
  std::optional<Result<std::vector<Host>>> answer;
  int ended_by = 0;
  {
    RONDO_ASSIGN_OR_RETURN(
        SignalWatch signals,
        SignalWatch::start({SIGINT, SIGTERM, SIGCHLD, hang_up()}));
    RONDO_ASSIGN_OR_RETURN(const auto loop, EventLoop::create());
    HostDiscovery one(
        *loop, options, [&answer](const auto& found) { answer = found; },
        std::move(warn));
    RONDO_RETURN_IF_ERROR(loop->watch(signals.fd(), EPOLLIN, [&] {
      while (const int signal = signals.next())
        if (signal != SIGCHLD) ended_by = signal;
      one.reap();
    }));
    RONDO_RETURN_IF_ERROR(one.start());
    while (!answer && ended_by == 0) loop->run_once();
  }
  // As if nobody had waited for it, now that the program is gone.
  if (ended_by != 0) {
    ::signal(ended_by, SIG_DFL);
    raise(ended_by);
  }
  if (!answer) return error(Code::kCancelled, "interrupted");
  return *answer;
}

HostDiscovery::HostDiscovery(EventLoop& loop, HostDiscoveryOptions options,
                             Answer answer, Warn warn)
    : loop_(loop),
      options_(std::move(options)),
      answer_(std::move(answer)),
      warn_(std::move(warn)) {}

HostDiscovery::~HostDiscovery() { stop(); }

void HostDiscovery::begin() {
  again_ = true;
  loop_.after(options_.period, [this] {
    if (!again_) return;
    if (const Status status = start(); !status.ok()) tell(status);
  });
}

void HostDiscovery::stop() {
  again_ = false;
  end_program();
}

Status HostDiscovery::start() {
  SpawnOptions spawning;
  spawning.argv = options_.command;
  spawning.environment = process_environment();
  spawning.death_signal = SIGKILL;
  RONDO_ASSIGN_OR_RETURN(spawning.path, find_program(options_.command[0],
                                                     spawning.environment, ""));
  RONDO_ASSIGN_OR_RETURN(child_, spawn(spawning));
  output_.clear();
  errors_.clear();
  const int question = ++question_;
  loop_.after(options_.patience, [this, question] {
    if (waits_for_answer(question))
      warn_(
          fmt::format("'{}' has not answered for {} s; it is ended after "
                      "{} s",
                      options_.command[0], to_seconds(options_.patience),
                      to_seconds(options_.limit)));
  });
  loop_.after(options_.limit, [this, question] {
    if (waits_for_answer(question)) give_up();
  });
  const Status status = watch();
  if (!status.ok()) end_program();
  return status;
}

Status HostDiscovery::watch() {
  RONDO_RETURN_IF_ERROR(loop_.watch(
      child_.out.get(), EPOLLIN, [this] { read_into(child_.out, output_); }));
  return loop_.watch(child_.err.get(), EPOLLIN,
                     [this] { read_into(child_.err, errors_); });
}

bool HostDiscovery::waits_for_answer(int question) {
  reap();  // where this process stood still, the answer may be there
  return question == question_ && child_.pid > 0;
}

void HostDiscovery::give_up() {
  end_program();
  tell(error(Code::kTimeout,
             "'{}' did not answer within {} s and was ended; it has to print "
             "the hosts and return: give what it waits for a shorter time-out, "
             "or give it more time with --host-discovery-timeout",
             options_.command[0], to_seconds(options_.limit)));
}

void HostDiscovery::end_program() {
  forget_pipes();
  if (child_.pid > 0) {
    // Also what has a group of its own, as `timeout` has. Once the program is
    // gone nobody knows whose those were.
    const auto stem_from_it = list_descendants({}, child_.pid);
    ::kill(-child_.pid, SIGKILL);
    for (const Process& process : stem_from_it) ::kill(process.pid, SIGKILL);
    // Not waited for: one that hangs in the kernel does not take the signal.
    waitpid(child_.pid, nullptr, WNOHANG);
  }
  child_ = Child();
}

void HostDiscovery::forget_pipes() {
  for (Fd* fd : {&child_.out, &child_.err})
    if (fd->valid()) loop_.forget(fd->get());
}

void HostDiscovery::read_into(Fd& fd, std::string& text) {
  if (!fd.valid()) return;
  const bool open = read_ready(fd, kMaxText, [&](std::string_view bytes) {
    if (text.size() < kMaxText) text.append(bytes);
  });
  if (open) return;
  loop_.forget(fd.get());
  fd.reset();
}

void HostDiscovery::reap() {
  siginfo_t ended{};
  if (child_.pid <= 0 ||
      waitid(P_PID, static_cast<id_t>(child_.pid), &ended,
             WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid != child_.pid)
    return;
  // What it left behind would hold the pipes and outlive the job. Before the
  // program is waited for, since another may have its number afterwards.
  ::kill(-child_.pid, SIGKILL);
  int wait_status = 0;
  waitpid(child_.pid, &wait_status, 0);
  read_into(child_.out, output_);
  read_into(child_.err, errors_);
  forget_pipes();
  child_ = Child();
  tell(parse(wait_status));
}

Result<std::vector<Host>> HostDiscovery::parse(int wait_status) const {
  if (wait_status != 0)
    return error(Code::kUnavailable, "'{}' {}{}{}", options_.command[0],
                 describe_exit(wait_status), errors_.empty() ? "" : ": ",
                 errors_.substr(0, errors_.find('\n')));
  auto hosts = parse_hostfile(output_);
  if (!hosts.ok())
    return hosts.status().with_context(
        fmt::format("what '{}' said", options_.command[0]));
  return hosts;
}

void HostDiscovery::tell(const Result<std::vector<Host>>& found) {
  if (again_) begin();
  answer_(found);
}

}  // namespace rondo
