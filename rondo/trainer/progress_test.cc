#include "rondo/trainer/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "rondo/trainer/training_report.h"
#include "rondo/trainer/worker_times.h"

namespace rondo {
namespace {

using testing::ContainsRegex;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const ProgressNumbers kNumbers{.step = 25,
                               .loss = 0.5,
                               .right = 0.875,
                               .per_second = 1234,
                               .waiting = 0.25,
                               .seconds_left = 61.5};

TEST(Progress, IsALineOfNumbers) {
  EXPECT_EQ(progress_text({.steps = 100, .workers = true}, kNumbers),
            "step 25/100, loss 0.500000, accuracy 87.5 %, 1234 images/s, "
            "waiting 25 %, 1:02 left");
  EXPECT_THAT(progress_text({.steps = 100}, kNumbers),
              Not(HasSubstr("waiting")));
}

TEST(Progress, ABarStaysWithinTheTerminal) {
  EXPECT_THAT(progress_bar({.steps = 100, .columns = 200}, kNumbers),
              HasSubstr("[=====               ] step 25/100"));
  EXPECT_EQ(progress_bar({.steps = 100, .columns = 40}, kNumbers).size(), 39U);
  // More steps than there are must not overflow the bar.
  EXPECT_THAT(progress_bar({.steps = 10, .columns = 200}, kNumbers),
              HasSubstr("[====================] "));
}

// What two showings and a line write.
std::string written(int columns) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  Progress progress({.steps = 100, .columns = columns}, file);
  progress.show(kNumbers);
  progress.show(kNumbers);
  progress.say("hello");
  progress.show(kNumbers);
  std::fclose(file);
  std::string all(text, size);
  std::free(text);
  return all;
}

TEST(Progress, ABarIsWrittenOverItselfOnly) {
  const std::string bar = progress_bar({.steps = 100, .columns = 90}, kNumbers);
  EXPECT_EQ(written(90),
            bar + "\n\x1b[A\x1b[2K" + bar + "\nhello\n" + bar + "\n");
  EXPECT_THAT(written(0), Not(HasSubstr("\x1b")));
}

TEST(WorkerTimes, LeaveTheFirstStepOut) {
  WorkerTimes times;
  times.add(seconds(5), seconds(50));
  times.add(seconds(1), seconds(3));
  times.add_waiting(0.5);
  EXPECT_EQ(times.steps(), 1);
  EXPECT_DOUBLE_EQ(times.seconds(), 4);
  EXPECT_DOUBLE_EQ(times.input_share(), 0.25);
  EXPECT_DOUBLE_EQ(times.waiting_share(), 0.375);
}

TEST(TrainingReport, SaysWhatBecameOfIt) {
  TrainOptions options;
  options.model = "mlp";
  options.data = "synthetic";
  TrainingReport report{.strategy = "ring",
                        .steps = 100,
                        .seconds = 2.5,
                        .accuracy = 0.9,
                        .checkpoint = "run/model-100",
                        .summary = "logs"};
  report.trace = "t.json (steps 10 to 14)";
  report.workers = {{1000, 0.1, 0.05, {0, 0.15}}, {1000, 0.1, 0.3, {0.01, 0}}};
  report.comparison =
      Comparison{.same_threads = 1250, .all_cores = 2000, .cores = 2};
  report.travels = {{"dense1/kernel", "factors", 1.5e6},
                    {"dense1/bias", "bucket", 2000},
                    {"dense2/kernel", "factors", 5e5}};
  report.buckets = {{.sizes = {{4 << 20, 26}}, .settled = true}};
  const std::string text = report_text(options, report, "images");
  EXPECT_THAT(text, HasSubstr("a worker sends 2 MB in a step; as factors: "
                              "dense1/kernel, dense2/kernel\nbuckets of up "
                              "to 4 MiB, 26 in a step: other sizes"));
  EXPECT_THAT(text,
              HasSubstr("mlp on synthetic: 100 steps in 2.5 s, 2 workers "
                        "(ring, 1 thread each), batch 64, 2000 images/s"));
  EXPECT_THAT(text, HasSubstr("test accuracy: 90.00 %"));
  EXPECT_THAT(text, HasSubstr("speed-up: 1.60 over one worker with 1 thread "
                              "(1250 images/s), 1.00 over one with all 2"));
  EXPECT_THAT(text, HasSubstr("checkpoint: run/model-100.safetensors"));
  EXPECT_THAT(text, HasSubstr("trace: t.json (steps 10 to 14)"));
  EXPECT_THAT(text, ContainsRegex("0 +1000 +70.0 % +5.0 % +15.0 % 10.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("1 +1000 +59.0 % +30.0 % +1.0 % 10.0 %\n"));
  EXPECT_THAT(text, HasSubstr("\nstraggler: worker 1; the others waited for "
                              "it for 15 % of their time\n"));
  EXPECT_THAT(text, Not(HasSubstr("straggler: worker 0")));
}

TEST(TrainingReport, WhatNobodyLookedAtIsUnknown) {
  TrainingReport report{.strategy = "ring"};
  report.workers = {{.input = 0.1, .looked = false}, {.input = 0.2}};
  const std::string text = report_text({}, report, "images");
  EXPECT_THAT(text, ContainsRegex("0 +0 +- +- +- 10.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("1 +0 +80.0 % +0.0 % +0.0 % 20.0 %"));
}

TEST(Stragglers, AreThoseTheOthersWaitFor) {
  EXPECT_THAT(stragglers({{.for_worker = {0}}}), ElementsAre());
  EXPECT_THAT(stragglers({{.for_worker = {0, 0.5, 0.1}},
                          {.for_worker = {0.05, 0, 0.1}},
                          {.for_worker = {0.05, 0.7, 0}}}),
              ElementsAre(Pair(1, DoubleEq(0.6)), Pair(2, DoubleEq(0.1))));
}

}  // namespace
}  // namespace rondo
