// HostDiscovery: asks a program, again and again, which hosts a job may use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/launch/event_loop.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/process.h"

namespace rondo {

// The program prints hosts as a hostfile has them, one per line: what Horovod's
// host discovery scripts do. Used from the loop's thread; it must live for as
// long as the loop runs.
class HostDiscovery {
 public:
  // What the program said, or why it said nothing that can be used.
  using Answer = std::function<void(const Result<std::vector<Host>>&)>;

  // Asks once, and waits for the answer.
  static Result<std::vector<Host>> ask(const std::vector<std::string>& command);

  HostDiscovery(EventLoop& loop, std::vector<std::string> command,
                Answer answer);
  // Kills a program that still runs.
  ~HostDiscovery();

  // Asks a second from now, and a second after each answer.
  void begin();
  // There is no further answer.
  void stop();
  // To be called after SIGCHLD.
  void reap();

 private:
  Status start();
  // Appends what comes to `text`, and closes `fd` at its end.
  void read_into(Fd& fd, std::string& text);
  Result<std::vector<Host>> parse(int wait_status) const;
  void tell(const Result<std::vector<Host>>& found);

  EventLoop& loop_;
  const std::vector<std::string> command_;
  const Answer answer_;
  Child child_;
  std::string output_;
  std::string errors_;
  bool again_ = false;
};

}  // namespace rondo
