#include "rondo/cluster/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using testing::HasSubstr;

std::string why_not(std::string_view text) {
  auto spec = ClusterSpec::parse(text);
  return spec.ok() ? "" : spec.status().message();
}

TEST(ClusterSpec, ReadsJobsAndTasks) {
  auto spec = ClusterSpec::parse("ps=h0:2222; worker = h1:2222, [fd00::1]:80;");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->to_string(), "ps=h0:2222;worker=h1:2222,[fd00::1]:80");
  EXPECT_EQ(spec->tasks(),
            (std::vector<TaskName>{{"ps", 0}, {"worker", 0}, {"worker", 1}}));
  EXPECT_EQ(*spec->address({"worker", 1}), "[fd00::1]:80");
  EXPECT_EQ(*ClusterSpec::parse(spec->to_string()), *spec);
}

TEST(ClusterSpec, KeepsNumbersThatAMapLeavesOut) {
  auto spec = ClusterSpec::from({{"worker", {{1, "a:1"}, {3, "b:1"}}}});
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(*spec->address({"worker", 3}), "b:1");
  EXPECT_THAT(spec->address({"worker", 2}).status().message(),
              HasSubstr("it has: 1, 3"));
}

TEST(ClusterSpec, NamesWhatThereIs) {
  auto spec = ClusterSpec::parse("ps=a:1;worker=b:1");
  EXPECT_THAT(spec->address({"workers", 0}).status().message(),
              HasSubstr("no job \"workers\"; it has: ps, worker"));
}

TEST(ClusterSpec, SaysWhatIsWrong) {
  EXPECT_THAT(why_not(""), HasSubstr("no job"));
  EXPECT_THAT(why_not("ps"), HasSubstr("expected name=host:port"));
  EXPECT_THAT(why_not("ps="), HasSubstr("\"\" is no address"));
  EXPECT_THAT(why_not("ps=host"), HasSubstr("\"host\" is no address"));
  EXPECT_THAT(why_not("ps=host:70000"), HasSubstr("is no address"));
  EXPECT_THAT(why_not("ps=host:22x"), HasSubstr("is no address"));
  EXPECT_THAT(why_not("ps=fd00::1:22"), HasSubstr("is no address"));
  EXPECT_THAT(why_not("ps=http://a:1"), HasSubstr("is no address"));
  EXPECT_THAT(why_not("0=a:1"), HasSubstr("no name of a job"));
  EXPECT_THAT(why_not("ps=a:1;ps=b:1"), HasSubstr("given twice"));
  EXPECT_THAT(why_not("ps=a:1;worker=b:1,a:1"),
              HasSubstr("/job:ps/task:0 and /job:worker/task:1 have the same"));
  EXPECT_THAT(why_not("ps=a:0,b:1"), HasSubstr("port 0"));
  EXPECT_EQ(why_not("local=localhost:0"), "");
}

}  // namespace
}  // namespace rondo
