#include "rondo/trainer/step_trace.h"

#include <gmock/gmock.h>

#include <sstream>

#include "rondo/trainer/test_files.h"

namespace rondo {
namespace {

using testing::HasSubstr;

TEST(TracedSteps, AreWithinTheRun) {
  EXPECT_EQ(traced_steps("3:7", 10).value(), (StepRange{3, 7}));
  EXPECT_EQ(traced_steps("7:7", 7).value(), (StepRange{7, 7}));
  EXPECT_EQ(traced_steps("", 100).value(), (StepRange{10, 14}));
  EXPECT_EQ(traced_steps("", 12).value(), (StepRange{8, 12}));
  EXPECT_EQ(traced_steps("", 1).value(), (StepRange{1, 1}));
  EXPECT_THAT(traced_steps("3:11", 10).status().message(),
              HasSubstr("this run has only 10 steps"));
  for (const char* wrong : {"3", "0:2", "3:2", "a:b", "1:2x", ":", "1:2:3"})
    EXPECT_THAT(parse_step_range(wrong).status().message(),
                HasSubstr("such as 10:14"))
        << wrong;
}

TEST(StepTrace, HasTheStepsThemselves) {
  const DataFolder folder;
  StepTrace trace(folder.path() + "/trace.json", {2, 3});
  EXPECT_FALSE(trace.contains(1));
  EXPECT_TRUE(trace.contains(2));
  EXPECT_FALSE(trace.contains(4));
  EXPECT_TRUE(trace.ends_with(3));
  const auto start = trace.timeline().origin();
  const auto ms = [&](int n) { return start + std::chrono::milliseconds(n); };
  trace.add(2, ms(1), ms(3), ms(10));
  const auto events = trace.timeline().events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].node, "input 2");
  EXPECT_DOUBLE_EQ(events[0].us, 2000);
  EXPECT_EQ(events[1].node, "step 2");
  EXPECT_DOUBLE_EQ(events[1].start_us, 3000);
  EXPECT_DOUBLE_EQ(events[1].us, 7000);

  trace.timeline().add("late", "MatMul", ms(11), ms(12));
  const auto late = trace.events_since(ms(11));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].node, "late");

  ASSERT_TRUE(trace.write("text").ok());
  std::stringstream text;
  text << std::ifstream(trace.path()).rdbuf();
  EXPECT_EQ(text.str(), "text");
  const StepTrace nowhere(folder.path() + "/none/trace.json", {1, 1});
  EXPECT_THAT(nowhere.write("text").message(),
              HasSubstr("none/trace.json\": No such file"));
}

}  // namespace
}  // namespace rondo
