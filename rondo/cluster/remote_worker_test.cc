#include "rondo/cluster/remote_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rondo/cluster/raw_server.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// As one whose process was stopped, which its link would notice much later.
TEST(RemoteWorker, ATaskThatDoesNotEndAStepInTimeIsGivenUp) {
  std::promise<void> over;
  RawServer mute(
      [until = over.get_future().share()](const Fd&) { until.wait(); });
  const std::shared_ptr<PeerLink> link =
      PeerLink::connect(mute.target(), {.caller = "test"},
                        Deadline(seconds(30)))
          .value();
  RemoteWorker worker("/job:ps/task:0", {"/job:ps/task:0/cpu:0"}, link);
  const Status status =
      worker.run_here({.step = 1, .deadline = Deadline(Duration(1))}).status();
  EXPECT_EQ(status.code(), Code::kTimeout) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/task:0 did not answer"));
  EXPECT_TRUE(link->failure().ok());
  over.set_value();
}

}  // namespace
}  // namespace rondo
