#include "rondo/train/merged_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <regex>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/train/clock_offset.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::Not;

Timeline::Event event(const char* name, const char* op, double start,
                      double end, int thread) {
  return {.node = name,
          .op = op,
          .start_us = start,
          .us = end - start,
          .thread = thread};
}

// The lane of the event of this name.
int lane_of(const std::string& text, const std::string& name) {
  std::smatch found;
  const std::regex line("\"name\": \"" + name + "\".*\"tid\": ([0-9]+)");
  EXPECT_TRUE(std::regex_search(text, found, line)) << name << "\n" << text;
  return std::stoi(found[1]);
}

// When the event of this name begins.
double start_of(const std::string& text, const std::string& name) {
  std::smatch found;
  const std::regex line("\"name\": \"" + name + "\".*\"ts\": (-?[0-9.]+)");
  EXPECT_TRUE(std::regex_search(text, found, line)) << name << "\n" << text;
  return std::stod(found[1]);
}

TEST(MergedTrace, EventsOfALaneDoNotOverlap) {
  const std::string text = trace_lines(
      3, "rank 3",
      {event("dense", "MatMul", 0, 10, 0),
       event("relu", "Relu", 10 - 1e-9, 12, 0),
       event("other", "Relu", 4, 12, 1), event("bucket0", "AllReduce", 3, 9, 0),
       event("bucket1", "AllReduce", 5, 14, 1),
       event("bucket2", "AllReduce", 9, 20, 0),
       event("step", "Step", 0, 20, -1)});
  EXPECT_THAT(text, HasSubstr("\"rank 3\""));
  EXPECT_THAT(text, HasSubstr("\"pid\": 3"));
  for (const char* lane :
       {"steps", "thread 0", "thread 1", "exchanges", "exchanges (2)"})
    EXPECT_THAT(text, HasSubstr(fmt::format("{{\"name\": \"{}\"}}", lane)));
  EXPECT_THAT(text, Not(HasSubstr("exchanges (3)")));
  EXPECT_EQ(lane_of(text, "step"), 0);
  EXPECT_EQ(lane_of(text, "dense"), lane_of(text, "relu"));
  EXPECT_NE(lane_of(text, "dense"), lane_of(text, "other"));
  EXPECT_NE(lane_of(text, "bucket0"), lane_of(text, "bucket1"));
  EXPECT_EQ(lane_of(text, "bucket0"), lane_of(text, "bucket2"));
}

// Each rank's clock is another hour ahead. The offset is wrong by half of the
// time that a question took at most: less than all of them together.
TEST(ClockOffset, IsThatToRank0) {
  spawn_ranks("inproc", 3, [](Communicator& comm) {
    const auto ahead = std::chrono::hours(comm.rank());
    const auto start = Clock::now();
    const Duration offset =
        clock_offset(comm, [&] { return Clock::now() + ahead; }).value();
    EXPECT_LE(std::chrono::abs(offset + ahead), Clock::now() - start);
    if (comm.rank() == 0) {
      EXPECT_EQ(offset.count(), 0);
    }
  });
}

TEST(MergedTrace, HasAllRanksByOneClock) {
  constexpr int kRanks = 3;
  const auto now = Clock::now();
  std::mutex mutex;
  std::vector<std::string> texts(kRanks);
  std::atomic<int64_t> most = 0;
  spawn_ranks("inproc", kRanks, [&](Communicator& comm) {
    // Timelines begin at different times; rank r's event is r ms behind the
    // first, and one more ms.
    Timeline timeline;
    const auto at = now + std::chrono::milliseconds(comm.rank());
    timeline.add(fmt::format("work{}", comm.rank()), "MatMul", at,
                 at + std::chrono::milliseconds(1));
    const auto start = Clock::now();
    std::string text = merged_trace(comm, timeline).value();
    const int64_t took = (Clock::now() - start).count();
    const std::lock_guard lock(mutex);
    most = std::max<int64_t>(most, took);
    texts[static_cast<size_t>(comm.rank())] = std::move(text);
  });
  EXPECT_EQ(texts[1], "");
  EXPECT_EQ(texts[2], "");
  EXPECT_THAT(texts[0], testing::StartsWith("{\"traceEvents\": ["));
  EXPECT_THAT(texts[0], HasSubstr("\"name\": \"rank 2 ("));
  // As exact as the offset is.
  const double bound = static_cast<double>(most) / 1e3;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_NEAR(start_of(texts[0], fmt::format("work{}", rank)), 1e3 * rank,
                bound);
}

}  // namespace
}  // namespace rondo
