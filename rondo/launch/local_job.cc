#include "rondo/launch/local_job.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/launch/descendants.h"
#include "rondo/launch/read_ready.h"

namespace rondo {
namespace {

// At a time, so that each rank has its turn.
constexpr size_t kTurn = size_t{1} << 16;
// A pipe holds less; only descendants that go on writing reach it.
constexpr size_t kLastRead = size_t{1} << 20;
constexpr Duration kTick = std::chrono::milliseconds(25);

bool is_directory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<std::unique_ptr<LocalJob>> LocalJob::start(EventLoop& loop,
                                                  const JobSpec& spec,
                                                  Listener& listener) {
  std::unique_ptr<LocalJob> job(new LocalJob(loop, listener, spec));
  RONDO_RETURN_IF_ERROR(job->prepare());
  RONDO_RETURN_IF_ERROR(job->start_ranks());
  return job;
}

Status LocalJob::prepare() {
  spawning_.argv = spec_.argv;
  spawning_.death_signal = SIGKILL;
  spawning_.directory = spec_.directory;
  if (!spec_.directory.empty() && !is_directory(spec_.directory)) {
    if (spec_.directory_required)
      return error(Code::kInvalidArgument,
                   "working directory '{}' was not found", spec_.directory);
    spawning_.directory.clear();
  }
  spawning_.environment = process_environment();
  for (const auto& [name, value] : spec_.environment)
    spawning_.environment[name] = value;
  if (!spec_.scratch.empty()) {
    RONDO_ASSIGN_OR_RETURN(scratch_, ScratchFolder::make(spec_.scratch));
    spawning_.environment["RONDO_SERVER_LOG"] = scratch_.path();
  }
  RONDO_ASSIGN_OR_RETURN(
      spawning_.path,
      find_program(spec_.argv[0], spawning_.environment, spawning_.directory));
  return {};
}

Status LocalJob::start_ranks() {
  for (int i = 0; i < spec_.count; ++i) {
    auto rank = std::make_unique<Rank>();
    rank->rank = spec_.first_rank + i;
    RONDO_RETURN_IF_ERROR(spawn_rank(*rank));
    ranks_.push_back(std::move(rank));
    ++running_;
  }
  // Nothing is told before all of them run: an error above means that none did.
  for (auto& rank : ranks_) {
    listener_.on_started(rank->rank, rank->child.pid);
    RONDO_RETURN_IF_ERROR(observe(*rank));
  }
  return {};
}

Status LocalJob::spawn_rank(Rank& rank) {
  auto& environment = spawning_.environment;
  environment["RONDO_RANK"] = std::to_string(rank.rank);
  environment["RONDO_WORLD_SIZE"] = std::to_string(spec_.world_size);
  environment["RONDO_LOCAL_RANK"] =
      std::to_string(rank.rank - spec_.first_rank);
  environment["RONDO_LOCAL_SIZE"] = std::to_string(spec_.count);
  RONDO_ASSIGN_OR_RETURN(rank.child, spawn(spawning_));
  return {};
}

Status LocalJob::observe(Rank& rank) {
  if (!paused_) {
    watch(rank, Stream::kOut);
    watch(rank, Stream::kErr);
  }
  const pid_t pid = rank.child.pid;
  rank.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // Without pidfds (before Linux 5.3) reap() finds the exit.
  if (!rank.pidfd.valid()) return {};
  return loop_.watch(rank.pidfd.get(), EPOLLIN,
                     [this, &rank] { check_exit(rank); });
}

LocalJob::~LocalJob() {
  if (!finished_) signal_all(SIGKILL);
  for (auto& rank : ranks_) {
    for (Fd* fd : {&rank->child.out, &rank->child.err, &rank->pidfd})
      if (fd->valid()) loop_.forget(fd->get());
    if (!rank->exited) waitpid(rank->child.pid, nullptr, 0);
  }
}

void LocalJob::watch(Rank& rank, Stream stream) {
  Fd& fd = rank.stream(stream);
  const Status status = loop_.watch(fd.get(), EPOLLIN, [this, &rank, stream] {
    read_output(rank, stream, kTurn);
  });
  if (!status.ok()) fd.reset();
}

void LocalJob::read_output(Rank& rank, Stream stream, size_t limit) {
  Fd& fd = rank.stream(stream);
  if (!fd.valid()) return;
  const bool open = read_ready(fd, limit, [&](std::string_view bytes) {
    listener_.on_output(rank.rank, stream, bytes);
  });
  if (open) return;
  loop_.forget(fd.get());
  fd.reset();
}

void LocalJob::pause_output(bool pause) {
  if (pause == paused_) return;
  paused_ = pause;
  for (auto& rank : ranks_)
    for (Stream stream : {Stream::kOut, Stream::kErr}) {
      Fd& fd = rank->stream(stream);
      if (!fd.valid()) continue;
      if (pause)
        loop_.forget(fd.get());
      else
        watch(*rank, stream);
    }
}

void LocalJob::check_exit(Rank& rank) {
  int wait_status = 0;
  if (!rank.exited && waitpid(rank.child.pid, &wait_status, WNOHANG) > 0)
    ended(rank, wait_status);
}

void LocalJob::reap() {
  int wait_status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
    for (auto& rank : ranks_)
      if (rank->child.pid == pid && !rank->exited) ended(*rank, wait_status);
  if (terminating_) check_finished();
}

void LocalJob::ended(Rank& rank, int wait_status) {
  rank.exited = true;
  --running_;
  if (rank.pidfd.valid()) {
    loop_.forget(rank.pidfd.get());
    rank.pidfd.reset();
  }
  read_output(rank, Stream::kOut, kLastRead);
  read_output(rank, Stream::kErr, kLastRead);
  if (start_again(rank, wait_status)) return;
  listener_.on_exited(rank.rank, wait_status);
  if (running_ > 0) return;
  check_finished();
  if (!finished_) terminate();
}

// One that returned a code had its say, and would say the same again.
bool LocalJob::start_again(Rank& rank, int wait_status) {
  if (!WIFSIGNALED(wait_status) || terminating_ || finished_ ||
      rank.restarts >= spec_.restarts)
    return false;
  for (Fd* fd : {&rank.child.out, &rank.child.err})
    if (fd->valid()) {
      loop_.forget(fd->get());
      fd->reset();
    }
  if (!spawn_rank(rank).ok()) return false;
  rank.exited = false;
  ++rank.restarts;
  ++running_;
  listener_.on_restarted(rank.rank, wait_status, rank.child.pid);
  // What cannot be watched is found by reap().
  (void)observe(rank);
  return true;
}

void LocalJob::terminate() {
  if (terminating_ || finished_) return;
  terminating_ = true;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process takes SIGTERM once it goes on
  loop_.after(spec_.term_time, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) kill();
  });
  if (!ticking_) tick();
}

void LocalJob::kill() {
  if (finished_) return;
  terminating_ = killing_ = true;
  signal_all(SIGKILL);
  if (!ticking_) tick();
}

// Orphans send no SIGCHLD before they are adopted, and processes may fork while
// they are being listed, so the end is looked for again and again.
void LocalJob::tick() {
  ticking_ = true;
  loop_.after(kTick, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || finished_) return;
    if (killing_) signal_all(SIGKILL);
    reap();
    if (!finished_) tick();
  });
}

void LocalJob::signal_all(int signal) {
  std::set<pid_t> groups;
  for (auto& rank : ranks_) {
    if (rank->exited) continue;
    groups.insert(rank->child.pid);
    ::kill(-rank->child.pid, signal);
  }
  for (const Process& process : list_descendants())
    if (!groups.contains(process.group)) ::kill(process.pid, signal);
}

void LocalJob::check_finished() {
  if (finished_ || running_ > 0 || !list_descendants().empty()) return;
  for (auto& rank : ranks_) {
    read_output(*rank, Stream::kOut, kLastRead);
    read_output(*rank, Stream::kErr, kLastRead);
  }
  finished_ = true;
  scratch_.remove();
  listener_.on_finished();
}

}  // namespace rondo
