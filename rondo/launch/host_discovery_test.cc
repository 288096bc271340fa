#include "rondo/launch/host_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::HasSubstr;

Result<std::vector<Host>> ask(const std::string& script) {
  return HostDiscovery::ask({"sh", "-c", script});
}

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
  EXPECT_THAT(HostDiscovery::ask({"/no/such/script"}).status().message(),
              HasSubstr("was not found"));
}

TEST(HostDiscovery, MoreThanAPipeHolds) {
  const auto hosts =
      ask("i=0; while [ $i -lt 9000 ]; do echo host-of-a-large-cluster-$i; "
          "i=$((i+1)); done")
          .value();
  EXPECT_EQ(hosts.size(), 9000u);
}

TEST(HostDiscovery, ProcessesThatItLeavesBehindHoldNobodyUp) {
  EXPECT_EQ(ask("echo a; sleep 3 & echo b").value().size(), 2u);
}

// Until there is an answer.
void run(EventLoop& loop, HostDiscovery& discovery, const int& answers,
         int wanted) {
  while (answers < wanted) {
    loop.after(std::chrono::milliseconds(10), [] {});
    loop.run_once();
    discovery.reap();
  }
}

TEST(HostDiscovery, AsksAgainAfterAnErrorToo) {
  const auto loop = EventLoop::create().value();
  int answers = 0;
  HostDiscovery discovery(*loop, {"sh", "-c", "exit 1"},
                          [&](const auto& found) {
                            EXPECT_FALSE(found.ok());
                            ++answers;
                          });
  discovery.begin();
  run(*loop, discovery, answers, 2);
}

TEST(HostDiscovery, AProgramThatRunsIsKilledInTheEnd) {
  const auto loop = EventLoop::create().value();
  int started = 0;
  HostDiscovery discovery(*loop, {"sh", "-c", "exec sleep 1000"},
                          [&](const auto&) { ADD_FAILURE(); });
  discovery.begin();
  loop->after(std::chrono::milliseconds(1100), [&] { started = 1; });
  run(*loop, discovery, started, 1);
}

}  // namespace
}  // namespace rondo
