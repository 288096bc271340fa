#include "rondo/planner/link_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Of so many hosts, a pair of which has what `rate` says.
template <class Rate>
LinkSurvey survey_of(size_t n, const Rate& rate) {
  LinkSurvey survey;
  for (size_t i = 0; i < n; ++i) {
    survey.hosts.push_back(fmt::format("h{}", i));
    for (size_t j = 0; j < n; ++j) {
      survey.rates.push_back(i == j ? 0 : rate(i, j));
      survey.latencies.push_back(i == j ? 0 : 40e-6);
    }
  }
  return survey;
}

TEST(LinkSurvey, EqualLinksNeedNoNames) {
  const LinkSurvey survey =
      survey_of(4, [](size_t i, size_t j) { return 1e8 + double(i + j); });
  EXPECT_NEAR(survey.link(), 1e8, 10);
  EXPECT_EQ(survey.latency(), 40e-6);
  EXPECT_EQ(to_text(survey),
            "Measured between 4 hosts: 800 Mbit/s each way, 40 us latency\n");
}

TEST(LinkSurvey, TheSlowestLinkIsNamed) {
  const LinkSurvey survey = survey_of(
      4, [](size_t i, size_t j) { return i == 2 || j == 2 ? 1e7 : 1e8; });
  EXPECT_EQ(survey.rate_of(1), 1e8);
  EXPECT_EQ(survey.rate_of(2), 1e7);
  EXPECT_EQ(survey.link(), 1e7);
  // Not the pairs of that host besides.
  EXPECT_THAT(to_text(survey),
              AllOf(HasSubstr("slowest link is that of h2"),
                    HasSubstr("about 800 Mbit/s"), Not(HasSubstr("--racks"))));
}

TEST(LinkSurvey, PairsAcrossAThinLinkAreNamed) {
  // Two hosts in each rack.
  const LinkSurvey survey = survey_of(
      4, [](size_t i, size_t j) { return i / 2 == j / 2 ? 1e8 : 1e7; });
  EXPECT_EQ(survey.link(), 1e8);
  EXPECT_THAT(to_text(survey), AllOf(HasSubstr("Between h0 and h2"),
                                     HasSubstr("--racks and --uplink"),
                                     Not(HasSubstr("slowest"))));
}

TEST(LinkSurvey, PairsThatNobodyMeasuredDoNotCount) {
  LinkSurvey survey = survey_of(4, [](size_t, size_t) { return 1e8; });
  survey.rates[1] = survey.rates[4] = 0;
  survey.latencies[1] = survey.latencies[4] = 0;
  EXPECT_EQ(survey.link(), 1e8);
  EXPECT_EQ(survey.latency(), 40e-6);
  EXPECT_THAT(to_text(survey), Not(HasSubstr("Between")));
}

TEST(LinkSurvey, TravelsAsJson) {
  LinkSurvey survey =
      survey_of(3, [](size_t i, size_t j) { return double(i * j) + 0.5; });
  survey.hosts[1] = "b\"\xff";  // no text in UTF-8
  const LinkSurvey read = parse_link_survey(to_json(survey)).value();
  EXPECT_EQ(read.rates, survey.rates);
  EXPECT_EQ(read.latencies, survey.latencies);
  EXPECT_EQ(read.hosts[2], "h2");
  EXPECT_THAT(read.hosts[1], HasSubstr("b\""));
}

TEST(LinkSurvey, OtherTextIsNone) {
  for (const char* text :
       {"", "{", "[]", R"({"hosts":["a"],"rates":[0],"latencies":[0]})",
        R"({"hosts":["a","b"],"rates":[1],"latencies":[1]})",
        R"({"hosts":["a","b"],"rates":"x","latencies":[0,1,1,0]})"})
    EXPECT_FALSE(parse_link_survey(text).ok()) << text;
}

}  // namespace
}  // namespace rondo
