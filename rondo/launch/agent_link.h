// AgentLink: the launcher's end of one agent, on this host or on another.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/launch/event_loop.h"
#include "rondo/launch/frame.h"
#include "rondo/launch/job_spec.h"
#include "rondo/launch/process.h"

namespace rondo {

// Owns the process that leads to the agent (the agent itself, ssh, or srun).
// The job's description, with its token, travels over that process's standard
// input and is never on a command line.
class AgentLink {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_started(AgentLink& link, int rank, pid_t pid) = 0;
    virtual void on_output(int rank, Stream stream, std::string_view bytes) = 0;
    virtual void on_exited(AgentLink& link, int rank, int wait_status) = 0;
    // It ended so, and the agent started it again.
    virtual void on_restarted(AgentLink& link, int rank, int wait_status,
                              pid_t pid) = 0;
    // What ssh, srun or the agent itself wrote to standard error.
    virtual void on_agent_error(AgentLink& link, std::string_view bytes) = 0;
    // The agent could start nothing; `exit_code` is what a shell would return.
    virtual void on_refused(AgentLink& link, int exit_code,
                            const std::string& message) = 0;
    // The process is gone. `status` says why, unless the agent had ended
    // everything and said so.
    virtual void on_closed(AgentLink& link, const Status& status) = 0;
  };

  // `command` is the command line that leads to an agent; `host` names it.
  static Result<std::unique_ptr<AgentLink>> start(
      EventLoop& loop, const std::vector<std::string>& command,
      const std::string& host, const JobSpec& spec, Listener& listener);
  ~AgentLink();

  void terminate() { send(encode_frame(FrameType::kTerminate)); }
  void kill() { send(encode_frame(FrameType::kKill)); }
  // SIGKILL to the process itself: for an agent that does not answer.
  void abandon();
  // Stops and resumes reading; the agent's ranks that write then wait.
  void pause(bool pause);
  // To be called after SIGCHLD.
  void reap();

  pid_t pid() const { return child_.pid; }
  bool closed() const { return closed_; }
  const std::string& host() const { return host_; }
  const JobSpec& spec() const { return spec_; }

 private:
  AgentLink(EventLoop& loop, std::string host, JobSpec spec, Listener& listener)
      : loop_(loop),
        host_(std::move(host)),
        spec_(std::move(spec)),
        listener_(listener) {}
  void send(std::string_view bytes);
  void flush();
  void watch_output();
  // Reads until there is nothing; false when the stream has ended.
  bool read_output();
  bool read_errors();
  void take(std::string_view bytes);
  void handle(const Frame& frame);
  void close(int wait_status);
  Status why_closed(int wait_status) const;

  EventLoop& loop_;
  const std::string host_;
  const JobSpec spec_;
  Listener& listener_;
  std::string command_name_;
  Child child_;
  std::string unsent_;
  bool sending_ = false;
  std::string before_hello_;
  bool greeted_ = false;
  bool paused_ = false;
  bool done_ = false;
  bool closed_ = false;
  Status broken_;
  FrameReader frames_;
};

}  // namespace rondo
