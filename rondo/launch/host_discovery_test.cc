#include "rondo/launch/host_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondo {
namespace {

using ::testing::HasSubstr;

HostDiscoveryOptions script(const std::string& text) {
  HostDiscoveryOptions options;
  options.command = {"sh", "-c", text};
  return options;
}

void unexpected(const std::string& slow) { ADD_FAILURE() << slow; }

Result<std::vector<Host>> ask(const std::string& text) {
  HostDiscoveryOptions options = script(text);
  options.patience = options.limit;  // the machine may be busy
  return HostDiscovery::ask(options, unexpected);
}

// A pipe that every process that stems from this one holds.
class Witness {
 public:
  Witness() { EXPECT_EQ(pipe(ends_), 0); }
  ~Witness() { close(ends_[0]); }
  // Whether they are gone, which is waited for. Once.
  bool all_are_gone() {
    close(ends_[1]);
    pollfd end{ends_[0], POLLIN, 0};
    return poll(&end, 1, 30'000) == 1 && (end.revents & POLLHUP) != 0;
  }

 private:
  int ends_[2];
};

TEST(HostDiscovery, AsksAProgram) {
  const auto hosts = ask("echo a:2; echo b").value();
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "a");
  EXPECT_EQ(hosts[0].slots, 2);
  EXPECT_EQ(hosts[1].name, "b");
}

TEST(HostDiscovery, WhatIsWrongIsNamed) {
  EXPECT_THAT(ask("echo no cloud >&2; exit 3").status().message(),
              HasSubstr("'sh' exited with code 3: no cloud"));
  EXPECT_THAT(ask("true").status().message(),
              HasSubstr("what 'sh' said: the host list is empty"));
  HostDiscoveryOptions missing;
  missing.command = {"/no/such/script"};
  EXPECT_THAT(HostDiscovery::ask(missing, unexpected).status().message(),
              HasSubstr("was not found"));
}

TEST(HostDiscovery, MoreThanAPipeHolds) {
  const auto hosts =
      ask("i=0; while [ $i -lt 9000 ]; do echo host-of-a-large-cluster-$i; "
          "i=$((i+1)); done")
          .value();
  EXPECT_EQ(hosts.size(), 9000u);
}

TEST(HostDiscovery, ProcessesThatItLeavesBehindAreEnded) {
  Witness witness;
  EXPECT_EQ(ask("echo a; sleep 1000 & echo b").value().size(), 2u);
  EXPECT_TRUE(witness.all_are_gone());
}

TEST(HostDiscovery, OneThatHangsIsEnded) {
  Witness witness;
  // Also what has left for a session of its own.
  HostDiscoveryOptions options = script("setsid sleep 1000 & sleep 1000");
  options.limit = std::chrono::milliseconds(300);
  const Status status = HostDiscovery::ask(options, unexpected).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(),
              HasSubstr("'sh' did not answer within 0.3 s and was ended"));
  EXPECT_THAT(status.message(), HasSubstr("--host-discovery-timeout"));
  EXPECT_TRUE(witness.all_are_gone());
}

TEST(HostDiscovery, OneThatIsSlowIsToldOf) {
  const std::string file =
      fmt::format("{}/rondo-slow-{}",
                  std::filesystem::temp_directory_path().string(), getpid());
  HostDiscoveryOptions options =
      script(fmt::format("until [ -e {} ]; do sleep 0.01; done; echo a", file));
  options.patience = std::chrono::milliseconds(20);
  std::string said;
  // It answers when it was told of.
  auto hosts = HostDiscovery::ask(options, [&](const std::string& slow) {
    said += slow;
    std::ofstream touch(file);
  });
  std::filesystem::remove(file);
  EXPECT_EQ(hosts.value().size(), 1u);
  EXPECT_EQ(said, "'sh' has not answered for 0.02 s; it is ended after 60 s");
}

// Until there are so many answers.
void run(EventLoop& loop, HostDiscovery& discovery, const int& answers,
         int wanted) {
  while (answers < wanted) {
    loop.after(std::chrono::milliseconds(10), [] {});
    loop.run_once();
    discovery.reap();
  }
}

HostDiscoveryOptions often(const std::string& text) {
  HostDiscoveryOptions options = script(text);
  options.period = std::chrono::milliseconds(1);
  options.patience = options.limit;
  return options;
}

TEST(HostDiscovery, AsksAgainAfterAnErrorToo) {
  const auto loop = EventLoop::create().value();
  int answers = 0;
  HostDiscovery discovery(
      *loop, often("exit 1"),
      [&](const auto& found) {
        EXPECT_FALSE(found.ok());
        ++answers;
      },
      unexpected);
  discovery.begin();
  run(*loop, discovery, answers, 2);
}

TEST(HostDiscovery, AsksAgainAfterOneThatHung) {
  const auto loop = EventLoop::create().value();
  HostDiscoveryOptions options = often("exec sleep 1000");
  options.limit = std::chrono::milliseconds(50);
  int answers = 0;
  HostDiscovery discovery(
      *loop, options,
      [&](const auto& found) {
        EXPECT_EQ(found.status().code(), Code::kTimeout);
        ++answers;
      },
      unexpected);
  discovery.begin();
  run(*loop, discovery, answers, 2);
}

TEST(HostDiscovery, AProgramThatRunsIsKilledInTheEnd) {
  Witness witness;
  const auto loop = EventLoop::create().value();
  int started = 0;
  HostDiscoveryOptions options = often("sleep 1000");
  options.patience = std::chrono::milliseconds(1);
  {
    HostDiscovery discovery(
        *loop, options, [&](const auto&) { ADD_FAILURE(); },
        [&](const auto&) { ++started; });
    discovery.begin();
    run(*loop, discovery, started, 1);
  }
  EXPECT_TRUE(witness.all_are_gone());
}

}  // namespace
}  // namespace rondo
