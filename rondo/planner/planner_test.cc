#include "rondo/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/train/server_share.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST(Planner, AModelHasFactors) {
  PlanOptions options = document();
  options.params.clear();
  options.model = "vgg16";
  const PlanReport report = make_plan(options).value();
  const auto& best = report.prediction.methods[report.prediction.recommended];
  EXPECT_EQ(best.method.name(), "ring, factors");
  EXPECT_LT(best.worker_bytes, 0.2 * 1.5 * 553e6);
}

// The ring strategy's rule: the first of 1 MiB, the others of 1 MiB for each
// rank, from 4 to 25.
TEST(Planner, AModelBySizeHasTheStrategysBuckets) {
  constexpr double kMiB = 1 << 20;
  const Workload workload = make_plan(document()).value().workload;
  for (const auto& [workers, bytes] :
       {std::pair(2, 4 * kMiB), {8, 8 * kMiB}, {64, 25 * kMiB}}) {
    const auto buckets = workload.buckets_for(workers);
    EXPECT_EQ(buckets[0].bytes, kMiB);
    EXPECT_EQ(buckets[1].bytes, bytes) << workers;
    double total = 0;
    for (const PlannedExchange& one : buckets) total += one.bytes;
    EXPECT_NEAR(total, 553.44e6, 1);
  }
}

TEST(Planner, MeasuredLinksAreThoseOfThePlan) {
  PlanOptions options = document();
  options.link.clear();
  options.latency.clear();
  options.measured = LinkSurvey{{"a", "<b>"}, {0, 1e8, 1e8, 0}, {0, 2, 2, 0}};
  const PlanReport report = make_plan(options).value();
  EXPECT_EQ(report.network.link, 1e8);
  EXPECT_EQ(report.network.latency, 2);
  EXPECT_THAT(to_text(report), HasSubstr("Measured between 2 hosts: 800 Mbit"));
  EXPECT_THAT(to_json(report), HasSubstr("\"measured\""));
  EXPECT_THAT(to_page(report), HasSubstr("Measured between 2 hosts"));
}

TEST(Planner, ADeviceIsEstimatedByItsFigures) {
  PlanOptions options;
  options.model = "vgg16";
  options.device = "a100";
  const Workload full = workload_of(options).value();
  EXPECT_EQ(full.step_origin, "estimated for a100");
  EXPECT_NEAR(full.flop_rate, 0.4 * 156e12, 1);
  options.precision = "bf16";
  const Workload half = workload_of(options).value();
  EXPECT_LT(half.step_seconds, full.step_seconds);
  options = {};
  options.model = "vgg16";
  options.cores = 4;
  const double four = workload_of(options).value().step_seconds;
  options.cores = 8;
  EXPECT_NEAR(four / workload_of(options).value().step_seconds, 2, 0.01);
}

// Each GPU sends 2D(g-1)/g bytes to the others of its host.
TEST(Planner, GpusOfAHostReduceOverTheirLinks) {
  PlanOptions options;
  options.model = "vgg16";
  options.device = "h100";
  options.workers = 8;
  options.gpus_per_host = 8;
  const PlanReport report = make_plan(options).value();
  EXPECT_EQ(report.network.hosts, 1);
  const auto& best = report.prediction.methods[report.prediction.recommended];
  EXPECT_EQ(best.method.kind, MethodKind::kDirect);
  const double link = 0.8 * 450e9;
  const double expected = 2 * report.workload.bytes() * 7 / 8 / link;
  EXPECT_NEAR(best.closed_transfer, expected, 0.05 * expected);
}

// Servers answer while the rest of gpt's gradients are computed.
TEST(Planner, NothingIsExposedForLessThanNoTime) {
  PlanOptions options;
  options.model = "gpt";
  options.cores = 1;
  options.link = "10gbit";
  const PlanReport report = make_plan(options).value();
  int hidden = 0;
  for (const auto& one : report.prediction.methods) {
    EXPECT_GE(one.step.exposed, 0) << one.method.name();
    hidden += one.step.exposed == 0;
  }
  EXPECT_GT(hidden, 0);
}

// Unless they are told, workers are as many as hosts, or as their GPUs.
TEST(Planner, HostsSayHowManyWorkersThereAre) {
  PlanOptions options = document();
  options.workers.reset();
  EXPECT_EQ(network_of(options).value().workers, 4);
  options.hosts = 8;
  EXPECT_EQ(network_of(options).value().workers, 8);
  options.gpus_per_host = 4;
  EXPECT_EQ(network_of(options).value().workers, 32);
  EXPECT_EQ(network_of(options).value().hosts, 8);
  options.hosts = 0;
  options.gpus_per_host = 8;
  EXPECT_EQ(network_of(options).value().workers, 8);
  options = document();
  options.workers = 6;
  options.hosts = 2;
  options.on_hosts = {4, 2};
  EXPECT_EQ(network_of(options).value().most_on_a_host(), 4);
  options.gpus_per_host = 3;
  EXPECT_THAT(said(options), HasSubstr("leave one of them out"));
}

TEST(Planner, TheWorkersOfAHostShareItsCores) {
  PlanOptions options;
  options.model = "lenet";
  options.workers = 8;
  options.hosts = 2;
  options.cores = 4;
  const double four = workload_of(options).value().step_seconds;
  options.cores = 1;
  const double one = workload_of(options).value().step_seconds;
  options.cores = 0;
  options.cores_per_host = 16;
  EXPECT_EQ(workload_of(options).value().step_seconds, four);
  options.cores_per_host = 2;  // a worker has one at least
  EXPECT_EQ(workload_of(options).value().step_seconds, one);
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
              AllOf(HasSubstr("--hosts 5: "), HasSubstr("1 to 4 hosts")));
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
  EXPECT_THAT(with([](auto& o) { o.step_time = "measured"; }),
              AllOf(HasSubstr("--step-time: \"measured\" is no time"),
                    HasSubstr("or measure or estimate")));
  EXPECT_THAT(with([](auto& o) { o.step_time = "estimate"; }),
              HasSubstr("--step-time 0.55"));
  EXPECT_THAT(with([](auto& o) { o.step_time = "measure"; }),
              HasSubstr("a model (mlp"));
  EXPECT_THAT(with([](auto& o) { o.feeds = {"x=1"}; }),
              HasSubstr("add --step-time measure"));
  EXPECT_THAT(with([](auto& o) { o.batch = 0; }), HasSubstr("--batch 0"));
  EXPECT_THAT(with([](auto& o) { o.device = "h100"; }),
              HasSubstr("give --step-time"));
  EXPECT_THAT(with([](auto& o) { o.device = "z80"; }), HasSubstr("--device"));
  EXPECT_THAT(with([](auto& o) { o.precision = "bf16"; }),
              HasSubstr("say of which --device"));
  EXPECT_THAT(with([](auto& o) { o.precision = "int4"; }),
              HasSubstr("fp32 or bf16"));
  EXPECT_THAT(with([](auto& o) { o.cores = -1; }), HasSubstr("--cores -1"));
  EXPECT_THAT(with([](auto& o) {
                o.device = "a100";
                o.flops = "1T";
              }),
              AllOf(HasSubstr("--flops and --device"), HasSubstr("give one")));
  EXPECT_THAT(with([](auto& o) {
                o.device = "a100";
                o.cores = 4;
              }),
              HasSubstr("--device cpu"));
  EXPECT_THAT(with([](auto& o) { o.gpus_per_host = 3; }),
              HasSubstr("--gpus-per-host 3"));
  EXPECT_THAT(with([](auto& o) { o.gpus_per_host = -1; }),
              HasSubstr("--gpus-per-host -1"));
  EXPECT_THAT(with([](auto& o) {
                o.gpus_per_host = 2;
                o.hosts = 4;
              }),
              HasSubstr("leave one of them out"));
  EXPECT_THAT(with([](auto& o) {
                o.params.clear();
                o.model = "mlp";
                o.step_time = "measure";
                o.cores = 60000;
              }),
              HasSubstr("a worker would have 60000"));
  EXPECT_THAT(with([](auto& o) {
                o.params.clear();
                o.model = "mlp";
                o.step_time = "measure";
                o.flops = "1T";
              }),
              HasSubstr("--step-time measure runs a step on cores"));
  EXPECT_THAT(with([](auto& o) { o.straggler = 0.5; }),
              HasSubstr("--straggler"));
  EXPECT_THAT(with([](auto& o) { o.jitter = -1; }), HasSubstr("--jitter"));
  EXPECT_THAT(with([](auto& o) { o.price_per_hour = -1; }),
              HasSubstr("--price-per-hour"));
  EXPECT_THAT(with([](auto& o) { o.params = "-3"; }), HasSubstr("--params"));
  EXPECT_THAT(with([](auto& o) { o.model = "lenet"; }), HasSubstr("not both"));
  EXPECT_THAT(with([](auto& o) { o.params.clear(); }),
              HasSubstr("or --params N"));
  EXPECT_THAT(with([](auto& o) { o.params = "0.5"; }),
              HasSubstr("whole number"));
  EXPECT_THAT(with([](auto& o) { o.params = "1e99"; }),
              HasSubstr("from 1 to 1e+15"));
  EXPECT_THAT(with([](auto& o) { o.optimizer = "magic"; }),
              HasSubstr("--optimizer magic"));
  EXPECT_THAT(with([](auto& o) { o.racks = 9; }),
              AllOf(HasSubstr("--racks 9"), Not(HasSubstr("--hosts"))));
  EXPECT_THAT(with([](auto& o) { o.racks = -1; }), HasSubstr("--racks -1"));
  EXPECT_THAT(with([](auto& o) { o.batch = int64_t{1} << 40; }),
              HasSubstr("1 to 1000000"));
  EXPECT_THAT(with([](auto& o) { o.latency = "1e6"; }),
              HasSubstr("--latency 1e6"));
  EXPECT_THAT(with([](auto& o) { o.straggler = 1e9; }), HasSubstr("1 to 1000"));
  EXPECT_THAT(with([](auto& o) { o.jitter = 99; }), HasSubstr("0 to 10"));
  EXPECT_THAT(with([](auto& o) { o.price_per_hour = 1e308; }),
              HasSubstr("--price-per-hour"));
  EXPECT_THAT(with([](auto& o) { o.price_per_hour = 1; }),
              HasSubstr("--examples 60000"));
  EXPECT_THAT(with([](auto& o) { o.examples = "0"; }),
              AllOf(HasSubstr("--examples"), HasSubstr("60000 or 1.28M")));
  EXPECT_THAT(with([](auto& o) {
                o.cores = 2;
                o.cores_per_host = 4;
              }),
              AllOf(HasSubstr("--cores-per-host"), HasSubstr("give one")));
  EXPECT_THAT(with([](auto& o) {
                o.device = "cpu";
                o.precision = "bf16";
              }),
              AllOf(HasSubstr("a100"), Not(HasSubstr("cpu"))));
  EXPECT_THAT(with([](auto& o) {
                o.workers = 4;
                o.gpus_per_host = 8;
              }),
              HasSubstr("a multiple of 8"));
  EXPECT_THAT(with([](auto& o) {
                o.params.clear();
                o.model = "lenet";
                o.step_time = "estimate";
                o.flops = "1e-300";
              }),
              HasSubstr("--flops 1e-300"));
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

// rondo/plan knows nothing of strategies, so it has their numbers once more.
TEST(Planner, AHybridIsTheStrategys) {
  EXPECT_EQ(Network().hybrid_part, kServedPart);
  EXPECT_EQ(Network().hybrid_unanswered, kServedAtOnce);
  for (int workers = 2; workers <= 16; ++workers)
    for (int spare = 1; spare <= 2 * workers; ++spare) {
      const Method method{.kind = MethodKind::kHybrid, .spare = spare};
      const Network network{.workers = workers, .hosts = workers};
      const ServerShare strategy = best_server_share(workers, spare);
      for (const double bytes : {1e4, 1e5, 1e6, 1e7, 1e8})
        EXPECT_NEAR(spare_share(method, network, bytes), strategy.of(bytes),
                    1e-9)
            << workers << " workers, " << spare << " spare, " << bytes;
    }
}

}  // namespace
}  // namespace rondo
