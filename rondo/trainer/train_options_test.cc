#include "rondo/trainer/train_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rondo/trainer/config_file.h"
#include "rondo/trainer/model.h"
#include "rondo/trainer/synthetic.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TrainOptions good() {
  TrainOptions options;
  options.model = "mlp";
  options.data = "synthetic";
  options.workers = 4;
  return options;
}

template <class Change>
std::string said(Change change) {
  TrainOptions options = good();
  change(options);
  return check(options).message();
}

TEST(TrainOptions, SayWhatToChange) {
  EXPECT_EQ(check(good()).message(), "");
  EXPECT_THAT(said([](auto& o) { o.model = "lent"; }),
              HasSubstr("there are mlp, lenet, vgg16, resnet50, lstm, gpt"));
  EXPECT_THAT(said([](auto& o) { o.data = ""; }), HasSubstr("--data"));
  EXPECT_THAT(said([](auto& o) { o.data = "no/such"; }),
              HasSubstr("no such file or folder"));
  EXPECT_THAT(said([](auto& o) { o.strategy = "rign"; }),
              HasSubstr("--strategy: there is no strategy \"rign\"; there are "
                        "single, ring"));
  EXPECT_THAT(said([](auto& o) { o.strategy = "single"; }),
              HasSubstr("one worker, and -n is 4"));
  EXPECT_THAT(said([](auto& o) { o.strategy = "ps"; }),
              HasSubstr("ps --servers 0: ps, ps-async and ssp take one"));
  EXPECT_THAT(said([](auto& o) {
                o.strategy = "ring";
                o.servers = 2;
              }),
              HasSubstr("ring --servers 2"));
  EXPECT_EQ(said([](auto& o) {
              o.strategy = "ps";
              o.servers = 2;
            }),
            "");
  for (const int servers : {0, 2})
    EXPECT_EQ(said([&](auto& o) {
                o.strategy = "hybrid";
                o.wire = "bf16";
                o.servers = servers;
              }),
              "");
  const auto served = [](auto& o) {
    o.strategy = "ps";
    o.servers = 2;
  };
  EXPECT_EQ(said([&](auto& o) {
              served(o);
              o.wire = "bf16";
            }),
            "");
  EXPECT_THAT(said([&](auto& o) {
                o.strategy = "single";
                o.workers = 1;
                o.wire = "bf16";
              }),
              HasSubstr("--wire bf16 is for strategies of several workers"));
  EXPECT_THAT(said([&](auto& o) {
                served(o);
                o.factors = "on";
              }),
              HasSubstr("--factors on is for --strategy ring or hybrid, not"));
  EXPECT_THAT(
      said([&](auto& o) {
        served(o);
        o.tune_buckets = true;
      }),
      HasSubstr("--tune-buckets is for --strategy ring or hybrid, not"));
  EXPECT_EQ(said([&](auto& o) {
              served(o);
              o.factors = "off";
            }),
            "");
  EXPECT_THAT(said([](auto& o) { o.batch = 66; }),
              HasSubstr("multiple of -n, 4"));
  EXPECT_THAT(said([](auto& o) { o.batch = 0; }), HasSubstr("--batch 0"));
  EXPECT_THAT(said([](auto& o) { o.optimizer = "lion"; }),
              HasSubstr("there are sgd, momentum, adam"));
  EXPECT_THAT(said([](auto& o) { o.precision = "fp16"; }),
              HasSubstr("--precision fp16: there are fp32, bf16"));
  EXPECT_THAT(said([](auto& o) { o.wire = "fp8"; }),
              HasSubstr("there are fp32, bf16"));
  EXPECT_THAT(said([](auto& o) { o.factors = "of"; }),
              HasSubstr("--factors of: there are auto, on, off"));
  EXPECT_THAT(said([](auto& o) { o.decay = "linear"; }),
              HasSubstr("there are none, cosine"));
  EXPECT_THAT(said([](auto& o) { o.lr = NAN; }), HasSubstr("--lr"));
  EXPECT_THAT(said([](auto& o) { o.epochs = 0; }), HasSubstr("--epochs 0"));
  EXPECT_THAT(said([](auto& o) { o.steps = -1; }), HasSubstr("--steps"));
  EXPECT_THAT(said([](auto& o) { o.trace_steps = "1:2"; }),
              HasSubstr("--trace-steps needs --trace FILE"));
  EXPECT_THAT(said([](auto& o) {
                o.trace = "trace.json";
                o.trace_steps = "5";
              }),
              HasSubstr("--trace-steps 5: expected the first and the last"));
  EXPECT_THAT(said([](auto& o) { o.resume = true; }),
              HasSubstr("--resume needs --checkpoint DIR"));
}

TEST(TrainOptions, TheRateFollowsTheOptimizer) {
  TrainOptions options = good();
  options.optimizer = "adam";
  EXPECT_EQ(options.rate(), 0.001);
  options.lr = 0.5;
  EXPECT_EQ(options.rate(), 0.5);
}

TEST(Model, MustFitTheData) {
  const TrainingData images = synthetic_images({.train = 8, .test = 2});
  EXPECT_TRUE(fits(*find_model("lenet").value(), images).ok());
  EXPECT_THAT(fits(*find_model("vgg16").value(), images).message(),
              HasSubstr("32 x 32 or more, and those of synthetic are 28 x 28"));
  EXPECT_THAT(fits(*find_model("gpt").value(), images).message(),
              HasSubstr("gpt takes text, and synthetic is images"));
}

TEST(ConfigFile, IsLinesOfOptions) {
  EXPECT_THAT(
      parse_config("# a training\nbatch = 64\n\n lr=0.1 # slow\r\n"
                   "logdir =")
          .value(),
      ElementsAre(Pair("batch", "64"), Pair("lr", "0.1"), Pair("logdir", "")));
  EXPECT_THAT(parse_config("batch = 1\nfast\n").status().message(),
              HasSubstr("line 2: \"fast\": expected name = value"));
  EXPECT_THAT(parse_config("= 3").status().message(), HasSubstr("line 1"));
  EXPECT_THAT(read_config_file("/no/such").status().message(),
              HasSubstr("--config /no/such"));
}

}  // namespace
}  // namespace rondo
