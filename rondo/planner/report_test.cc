// What the reports say, of document 000's experiment with some of it changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/planner/planner.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

PlanOptions document() {
  PlanOptions options;
  options.params = "138.36M";
  options.workers = 4;
  options.link = "1gbit";
  options.latency = "0";
  options.step_time = "0.55";
  return options;
}

TEST(PlanReport, TextHasTheDocumentsNumbers) {
  const std::string text = to_text(make_plan(document()).value());
  EXPECT_THAT(text, AllOf(HasSubstr("Tt = 6.64 s, Tp = 7.19 s, P = 7.6 %"),
                          HasSubstr("* ring"), HasSubstr("109 Gbit/s"),
                          HasSubstr("Take ring"), HasSubstr("4096")));
}

TEST(PlanReport, JsonHasAllOfIt) {
  PlanOptions options = document();
  options.price_per_hour = 1;
  options.examples = "60k";
  const std::string json = to_json(make_plan(options).value());
  EXPECT_THAT(json,
              AllOf(HasSubstr("\"recommended\": \"ring\""),
                    HasSubstr("\"hybrid 2\""), HasSubstr("\"by_workers\""),
                    HasSubstr("\"epoch_price\""), HasSubstr("\"by_rate\"")));
}

TEST(PlanReport, PageNeedsNothingElse) {
  PlanReport report = make_plan(document()).value();
  report.workload.name = "<b>&";
  const std::string page = to_page(report);
  EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr("</html>"),
                          HasSubstr("&lt;b&gt;&amp;"), Not(HasSubstr("src=")),
                          Not(HasSubstr("http")), Not(HasSubstr("nan"))));
  // Of ticks that are near each other, one has its number.
  EXPECT_THAT(page, AllOf(HasSubstr(">40</text>"), Not(HasSubstr(">50</"))));
}

// What it costs is not communication.
TEST(PlanReport, WaitingForTheSlowestHasAColumnOfItsOwn) {
  PlanOptions options = document();
  EXPECT_THAT(to_text(make_plan(options).value()), Not(HasSubstr("waiting")));
  options.straggler = 2;
  const PlanReport report = make_plan(options).value();
  for (const MethodPrediction& one : report.prediction.methods)
    EXPECT_NEAR(one.step.waiting, 0.55, 1e-9) << one.method.name();
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("exposed  waiting"),
                                     HasSubstr("550 ms are lost by waiting")));
  EXPECT_THAT(to_json(report), HasSubstr("\"waiting_seconds\": 0.55"));
  EXPECT_THAT(to_page(report), HasSubstr("waiting for the slowest"));
}

TEST(PlanReport, RowsByClosedFormsAreMarked) {
  PlanOptions options = document();
  EXPECT_THAT(to_text(make_plan(options).value()), Not(HasSubstr("~")));
  options.workers = 512;
  const PlanReport report = make_plan(options).value();
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("  ~"), HasSubstr("~ has too many blocks")));
  EXPECT_THAT(to_page(report),
              AllOf(HasSubstr("<td>~"), HasSubstr("~ has too many blocks")));
}

TEST(PlanReport, PredictionsCarryAnErrorBand) {
  const PlanReport report = make_plan(document()).value();
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("within"), HasSubstr("so near to what")));
  EXPECT_THAT(to_json(report), HasSubstr("\"error_band\": {"));
  EXPECT_THAT(to_page(report), HasSubstr("so near to what"));
}

TEST(PlanReport, SaysHowToRunWhatItRecommends) {
  PlanOptions options = document();
  EXPECT_THAT(to_text(make_plan(options).value()),
              HasSubstr("rondo run -n 4 --hosts HOSTS --strategy ring --env "
                        "RONDO_ALGORITHM=ring -- PROGRAM\n"));
  options.params.clear();
  options.model = "vgg16";
  EXPECT_THAT(
      to_page(make_plan(options).value()),
      HasSubstr("RONDO_ALGORITHM=ring --env RONDO_LINK=1gbit --env "
                "RONDO_FLOPS=5.518T "
                "-- rondo train vgg16 --data DATA --batch 128 --factors auto"));
  options.hosts = 1;
  EXPECT_THAT(to_json(make_plan(options).value()),
              HasSubstr("rondo run -n 4 --strategy ring --env "
                        "RONDO_ALGORITHM=direct -- rondo train vgg16"));
  options.device = "h100";
  EXPECT_THAT(
      to_json(make_plan(options).value()),
      HasSubstr("RONDO_ALGORITHM=direct --env RONDO_FACTORS=off -- PROGRAM"));
  options.hosts = 4;
  options.link = "100mbit";
  EXPECT_THAT(to_json(make_plan(options).value()),
              ContainsRegex("RONDO_LINK=100mbit --env RONDO_FLOPS=.* --env "
                            "RONDO_FACTOR_ROWS=32 -- PROGRAM"));
}

TEST(PlanReport, OneHostHasNoLinksToTalkOf) {
  PlanOptions options = document();
  options.hosts = 1;
  for (const int workers : {1, 4}) {
    options.workers = workers;
    const PlanReport report = make_plan(options).value();
    EXPECT_THAT(to_text(report),
                AllOf(HasSubstr("on 1 host\n"), Not(HasSubstr("bit/s"))));
    EXPECT_THAT(to_page(report),
                AllOf(Not(HasSubstr("<svg")), Not(HasSubstr("bit/s"))));
  }
}

TEST(PlanReport, ThePageShowsRacksAndWhatALabMeasured) {
  PlanOptions options = document();
  options.racks = 2;
  options.uplink = "200mbit";
  PlanReport report = make_plan(options).value();
  EXPECT_THAT(to_page(report), AllOf(HasSubstr("2 racks, 200 Mbit/s between"),
                                     Not(HasSubstr("Tried in a lab"))));
  report.checked =
      predict_lab(report, methods_to_check(report, "ring; ps 2").value())
          .value();
  EXPECT_THAT(to_page(report), Not(HasSubstr("Tried in a lab")));
  for (CheckedMethod& one : report.checked)
    one.measured = {.communication = one.predicted.communication,
                    .step = 1.03 * one.predicted.step,
                    .worker_bytes = one.predicted_bytes,
                    .rounds = 3};
  EXPECT_THAT(to_page(report),
              AllOf(HasSubstr("Tried in a lab"), HasSubstr("<td>ps 2</td>"),
                    HasSubstr("+3.0 %"), HasSubstr("is the fastest")));
}

// From one number of spare machines to the next nothing changes, as nothing is
// given to them.
TEST(PlanReport, RowsWithTheSameFiguresAreOne) {
  PlanOptions options = document();
  options.params = "10k";
  const PlanReport report = make_plan(options).value();
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("hybrid 1 to 4 "), Not(HasSubstr("hybrid 2"))));
  EXPECT_THAT(to_json(report), HasSubstr("\"hybrid 2\""));
}

TEST(PlanReport, ServersBesideWorkersHaveRowsOfTheirOwn) {
  const std::string text = to_text(make_plan(document()).value());
  EXPECT_THAT(text, AllOf(HasSubstr("ps 4 beside workers"),
                          HasSubstr("beside the workers, 4 would be enough")));
}

TEST(PlanReport, ALabTriesServersBesideWorkersToo) {
  PlanOptions options = document();
  options.params = "450k";
  options.workers = 7;
  options.latency = "5ms";
  options.step_time = "20ms";
  const PlanReport report = make_plan(options).value();
  const auto best = report.prediction.methods[report.prediction.recommended];
  EXPECT_TRUE(best.method.beside);
  const auto methods = methods_to_check(report, "").value();
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_EQ(methods[0], best.method);
  EXPECT_EQ(methods[1].spare_machines(), 0);
  EXPECT_GT(methods[2].spare_machines(), 0);
}

TEST(PlanReport, ALabHasHostsForWhatItTries) {
  PlanOptions options = document();
  options.workers = 40;
  const PlanReport report = make_plan(options).value();
  const std::vector<Method> methods = methods_to_check(report, "").value();
  EXPECT_EQ(methods.size(), 3u);
  for (const Method& method : methods)
    EXPECT_LE(40 + method.spare_machines(), kMostHostsOfALab) << method.name();
}

}  // namespace
}  // namespace rondo
