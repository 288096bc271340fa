// LocalJob: the ranks of a job that run on this host, and all their
// descendants.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "rondo/launch/event_loop.h"
#include "rondo/launch/frame.h"
#include "rondo/launch/job_spec.h"
#include "rondo/launch/process.h"
#include "rondo/launch/scratch_folder.h"

namespace rondo {

// Owned and used by the loop's thread, in a process that adopts orphans and
// that has no children but these. A rank cannot outlive the process: the kernel
// kills it when the thread that called start() ends.
class LocalJob {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_started(int rank, pid_t pid) = 0;
    virtual void on_output(int rank, Stream stream, std::string_view bytes) = 0;
    // After all that the rank itself wrote.
    virtual void on_exited(int rank, int wait_status) = 0;
    // So, and it was started again, as JobSpec::restarts says.
    virtual void on_restarted(int rank, int wait_status, pid_t pid) = 0;
    // Every rank and every descendant is gone; nothing follows.
    virtual void on_finished() = 0;
  };

  // Starts every rank, or none: the program and the directory are checked
  // first. The error is kInvalidArgument when the program does not exist,
  // kPermission when it cannot be executed.
  static Result<std::unique_ptr<LocalJob>> start(EventLoop& loop,
                                                 const JobSpec& spec,
                                                 Listener& listener);
  // Kills what is left.
  ~LocalJob();

  // SIGTERM to every process of the job, SIGKILL to what is left after
  // the job's term_time. What ranks leave behind is ended like this too.
  void terminate();
  // SIGKILL to every process of the job.
  void kill();
  // Stops and resumes reading the ranks' output; ranks that write then wait.
  void pause_output(bool pause);
  // To be called after SIGCHLD.
  void reap();

 private:
  struct Rank {
    int rank = 0;
    Child child;
    Fd pidfd;
    bool exited = false;
    int restarts = 0;  // that it had
    Fd& stream(Stream which) {
      return which == Stream::kOut ? child.out : child.err;
    }
  };

  LocalJob(EventLoop& loop, Listener& listener, JobSpec spec)
      : loop_(loop),
        listener_(listener),
        spec_(std::move(spec)),
        alive_(std::make_shared<int>()) {}
  // What all ranks are started with.
  Status prepare();
  Status start_ranks();
  Status spawn_rank(Rank& rank);
  // Watches what a rank that runs writes, and when it ends.
  Status observe(Rank& rank);
  // Whether a rank that has ended runs again.
  bool start_again(Rank& rank, int wait_status);
  void watch(Rank& rank, Stream stream);
  // Reads what is there, at most `limit` bytes.
  void read_output(Rank& rank, Stream stream, size_t limit);
  void check_exit(Rank& rank);
  void ended(Rank& rank, int wait_status);
  void signal_all(int signal);
  void tick();
  void check_finished();

  EventLoop& loop_;
  Listener& listener_;
  const JobSpec spec_;
  ScratchFolder scratch_;
  SpawnOptions spawning_;
  std::shared_ptr<int> alive_;  // timers look whether the job still is
  std::vector<std::unique_ptr<Rank>> ranks_;
  int running_ = 0;
  bool paused_ = false;
  bool terminating_ = false;
  bool killing_ = false;
  bool ticking_ = false;
  bool finished_ = false;
};

}  // namespace rondo
