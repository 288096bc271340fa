// TestProcess: a server or a worker as a process of its own: this test program
// again, which runs a test that is disabled elsewhere.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

// It ends with this object, or with the process that made it: its input ends
// then.
class TestProcess {
 public:
  TestProcess(const std::string& test,
              const std::map<std::string, std::string>& variables) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    input_ = Fd(ends[1]);
    const Fd theirs(ends[0]);
    std::vector<std::string> words = {"rondo_ps_test",
                                      fmt::format("--gtest_filter={}", test),
                                      "--gtest_also_run_disabled_tests"};
    std::vector<std::string> settings;
    for (const auto& [name, value] : variables)
      settings.push_back(fmt::format("{}={}", name, value));
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (char** at = environ; *at != nullptr; ++at) envp.push_back(*at);
    for (std::string& setting : settings) envp.push_back(setting.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    const int failure = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr,
                                    argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) throw std::runtime_error("posix_spawn");
  }
  ~TestProcess() { kill(); }
  TestProcess(const TestProcess&) = delete;

  int pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // In the process: until the one that made it wants it to end.
  static void wait_for_end() {
    char byte = 0;
    while (::read(0, &byte, 1) > 0) continue;
  }

 private:
  Fd input_;
  pid_t pid_ = 0;
};

}  // namespace rondo
