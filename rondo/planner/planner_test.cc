#include "rondo/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Document 000's experiment.
PlanOptions document() {
  PlanOptions options;
  options.params = "138.36M";
  options.workers = 4;
  options.link = "1gbit";
  options.latency = "0";
  options.step_time = "0.55";
  return options;
}

std::string said(const PlanOptions& options) {
  const Result<PlanReport> report = make_plan(options);
  return report.ok() ? std::string() : report.status().message();
}

TEST(Planner, TextHasTheDocumentsNumbers) {
  const std::string text = to_text(make_plan(document()).value());
  EXPECT_THAT(text, AllOf(HasSubstr("Tt = 6.64 s, Tp = 7.19 s, P = 7.6 %"),
                          HasSubstr("* ring"), HasSubstr("109 Gbit/s"),
                          HasSubstr("Take ring"), HasSubstr("4096")));
}

TEST(Planner, JsonHasAllOfIt) {
  PlanOptions options = document();
  options.price_per_hour = 1;
  const std::string json = to_json(make_plan(options).value());
  EXPECT_THAT(json,
              AllOf(HasSubstr("\"recommended\": \"ring\""),
                    HasSubstr("\"hybrid 2\""), HasSubstr("\"by_workers\""),
                    HasSubstr("\"epoch_price\""), HasSubstr("\"by_rate\"")));
}

TEST(Planner, PageNeedsNothingElse) {
  PlanReport report = make_plan(document()).value();
  report.workload.name = "<b>&";
  const std::string page = to_page(report);
  EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr("</html>"),
                          HasSubstr("&lt;b&gt;&amp;"), Not(HasSubstr("src=")),
                          Not(HasSubstr("http")), Not(HasSubstr("nan"))));
}

TEST(Planner, AModelHasFactors) {
  PlanOptions options = document();
  options.params.clear();
  options.model = "vgg16";
  const PlanReport report = make_plan(options).value();
  const auto& best = report.prediction.methods[report.prediction.recommended];
  EXPECT_EQ(best.method.name(), "ring, factors");
  EXPECT_LT(best.worker_bytes, 0.2 * 1.5 * 553e6);
}

TEST(Planner, BadOptionsAreNamed) {
  const auto with = [](auto change) {
    PlanOptions options = document();
    change(options);
    return said(options);
  };
  EXPECT_THAT(with([](auto& o) { o.workers = 0; }), HasSubstr("--workers 0"));
  EXPECT_THAT(with([](auto& o) { o.workers = 1 << 20; }),
              HasSubstr("1 to 65536"));
  EXPECT_THAT(with([](auto& o) { o.hosts = 5; }),
              HasSubstr("5 hosts for 4 workers"));
  EXPECT_THAT(with([](auto& o) { o.link = "-1gbit"; }),
              AllOf(HasSubstr("--link"), HasSubstr("more than zero")));
  EXPECT_THAT(with([](auto& o) { o.link = "1foo"; }),
              AllOf(HasSubstr("--link"), HasSubstr("no unit")));
  EXPECT_THAT(with([](auto& o) { o.latency = "soon"; }),
              HasSubstr("--latency"));
  EXPECT_THAT(with([](auto& o) { o.uplink = "1gbit"; }),
              HasSubstr("--racks 2"));
  EXPECT_THAT(with([](auto& o) { o.step_time = "0"; }),
              HasSubstr("--step-time 0"));
  EXPECT_THAT(with([](auto& o) { o.step_time = "estimate"; }),
              HasSubstr("--step-time 0.55"));
  EXPECT_THAT(with([](auto& o) { o.step_time = "measure"; }),
              HasSubstr("needs a model"));
  EXPECT_THAT(with([](auto& o) { o.batch = 0; }), HasSubstr("--batch 0"));
  EXPECT_THAT(with([](auto& o) { o.straggler = 0.5; }),
              HasSubstr("--straggler"));
  EXPECT_THAT(with([](auto& o) { o.jitter = -1; }), HasSubstr("--jitter"));
  EXPECT_THAT(with([](auto& o) { o.price_per_hour = -1; }),
              HasSubstr("--price-per-hour"));
  EXPECT_THAT(with([](auto& o) { o.params = "-3"; }), HasSubstr("--params"));
  EXPECT_THAT(with([](auto& o) { o.model = "lenet"; }),
              HasSubstr("or --params N"));
  EXPECT_THAT(with([](auto& o) {
                o.params.clear();
                o.model = "nosuch";
              }),
              AllOf(HasSubstr("nosuch"), HasSubstr("vgg16")));
  EXPECT_THAT(with([](auto& o) {
                o.params.clear();
                o.model = "mlp";
                o.optimizer = "magic";
              }),
              AllOf(HasSubstr("--optimizer magic"), HasSubstr("momentum")));
}

}  // namespace
}  // namespace rondo
