// HostDiscovery: asks a program, again and again, which hosts a job may use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/launch/event_loop.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/process.h"

namespace rondo {

struct HostDiscoveryOptions {
  // The program and its arguments.
  std::vector<std::string> command;
  Duration period = std::chrono::seconds(1);    // from an answer to a question
  Duration patience = std::chrono::seconds(5);  // until a word that it is slow
  // After which it is ended, which counts as a failure.
  Duration limit = std::chrono::seconds(60);
};

// The program prints hosts as a hostfile has them, one per line: what Horovod's
// host discovery scripts do. What it starts and leaves in its process group is
// ended with it. Used from the loop's thread; it must live for as long as the
// loop runs.
class HostDiscovery {
 public:
  // What the program said, or why it said nothing that can be used.
  using Answer = std::function<void(const Result<std::vector<Host>>&)>;
  // That there is no answer yet; once for a question.
  using Warn = std::function<void(const std::string&)>;

  // Asks once, and waits for the answer. SIGINT, SIGTERM and SIGHUP (but under
  // nohup) end this process, and the program before it.
  static Result<std::vector<Host>> ask(const HostDiscoveryOptions& options,
                                       Warn warn);

  HostDiscovery(EventLoop& loop, HostDiscoveryOptions options, Answer answer,
                Warn warn);
  // Kills a program that still runs.
  ~HostDiscovery();

  // Asks a period from now, and a period after each answer.
  void begin();
  // There is no further answer.
  void stop();
  // To be called after SIGCHLD.
  void reap();
  // Whether this process is the one to be waited for by reap().
  bool waits_for(pid_t pid) const { return child_.pid == pid; }

 private:
  Status start();
  Status watch();
  // Whether it still waits for the answer to this question.
  bool waits_for_answer(int question);
  // Ends the program and what stems from it.
  void end_program();
  void give_up();
  // Watches its output no more.
  void forget_pipes();
  // Appends what comes to `text`, and closes `fd` at its end.
  void read_into(Fd& fd, std::string& text);
  Result<std::vector<Host>> parse(int wait_status) const;
  void tell(const Result<std::vector<Host>>& found);

  EventLoop& loop_;
  const HostDiscoveryOptions options_;
  const Answer answer_;
  const Warn warn_;
  Child child_;
  int question_ = 0;  // how many were asked
  std::string output_;
  std::string errors_;
  bool again_ = false;
};

}  // namespace rondo
