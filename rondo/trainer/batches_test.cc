#include "rondo/trainer/batches.h"

#include <gmock/gmock.h>

#include <numeric>

#include "rondo/trainer/synthetic.h"

namespace rondo {
namespace {

using testing::UnorderedElementsAreArray;
using Rows = std::vector<int64_t>;

const TrainingData& data() {
  static const auto* const made =
      new TrainingData(synthetic_images({.side = 2, .train = 26, .test = 4}));
  return *made;
}

Rows all_rows(Batches& batches, int64_t step, int size) {
  Rows rows;
  for (int rank = 0; rank < size; ++rank)
    for (const int64_t row : batches.rows(step, rank, size))
      rows.push_back(row);
  return rows;
}

TEST(Batches, SharesOfAllRanksAreTheBatch) {
  Batches batches(data().train, data().kind, 8, 1);
  for (int64_t step = 0; step < 7; ++step)
    for (const int size : {2, 4, 8})
      EXPECT_EQ(all_rows(batches, step, size), all_rows(batches, step, 1));
}

TEST(Batches, AnEpochTakesEachExampleOnce) {
  Batches batches(data().train, data().kind, 13, 1);
  ASSERT_EQ(batches.steps_per_epoch(), 2);
  Rows all(26);
  std::iota(all.begin(), all.end(), 0);
  Rows first;
  Rows second;
  for (const int64_t step : {0, 1})
    for (const int64_t row : batches.rows(step, 0, 1)) first.push_back(row);
  for (const int64_t step : {2, 3})
    for (const int64_t row : batches.rows(step, 0, 1)) second.push_back(row);
  EXPECT_THAT(first, UnorderedElementsAreArray(all));
  EXPECT_THAT(second, UnorderedElementsAreArray(all));
  EXPECT_NE(first, second);
}

TEST(Batches, StepAndSeedDecide) {
  Batches early(data().train, data().kind, 8, 1);
  const Rows before = early.rows(5, 1, 2);
  EXPECT_NE(early.rows(1, 1, 2), before);
  EXPECT_EQ(early.rows(5, 1, 2), before);
  // One that begins in the middle, as after a checkpoint.
  EXPECT_EQ(Batches(data().train, data().kind, 8, 1).rows(5, 1, 2), before);
  EXPECT_NE(Batches(data().train, data().kind, 8, 2).rows(5, 1, 2), before);
}

TEST(Batches, AreWhatModelsAreFed) {
  const Batch batch =
      make_batch(data().train, ExampleKind::kImages, 3, 5).value();
  EXPECT_EQ(batch.inputs.shape(), (Shape{2, 2, 2, 1}));
  EXPECT_FLOAT_EQ(
      batch.inputs.span<float>()[4],
      static_cast<float>(data().train.inputs.span<uint8_t>()[16]) / 255);
  EXPECT_EQ(batch.labels.span<int64_t>()[1],
            data().train.labels.span<uint8_t>()[4]);
  const Batch text = make_batch(data().train, ExampleKind::kText, 0, 1).value();
  EXPECT_EQ(text.inputs.dtype(), DType::kI64);
}

}  // namespace
}  // namespace rondo
