// Stages of data sets, alone and behind each other.
#include "rondo/train/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

const DataTypes kScalar = {{DType::kI64, PartialShape::scalar()}};

// All elements of one i64 component, one after another.
std::vector<int64_t> all(const Dataset& dataset, uint64_t pass = 0) {
  std::vector<int64_t> values;
  DatasetIterator it = dataset.iterate(pass);
  while (auto element = it.next().value())
    for (const int64_t value : (*element)[0].span<int64_t>())
      values.push_back(value);
  EXPECT_FALSE(it.next().value()) << "after the end there is no more";
  return values;
}

std::vector<int64_t> count_to(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
  return values;
}

Tensor ints(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::of<int64_t>({n}, values);
}

int64_t only(const DataElement& element) {
  return element[0].span<int64_t>()[0];
}

ElementFunction times_ten() {
  return [](DataElement element) -> Result<DataElement> {
    return DataElement{Tensor::full({}, 10 * only(element))};
  };
}

template <class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInvalidArgument);
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Dataset, GivesTensorsSlicesAndRanges) {
  DatasetIterator one = Dataset::from_tensors({ints({1, 2})}).iterate();
  EXPECT_EQ((*one.next().value())[0].count(), 2);
  EXPECT_FALSE(one.next().value());

  EXPECT_THAT(all(Dataset::from_tensor_slices({ints({4, 5, 6})})),
              ElementsAre(4, 5, 6));
  EXPECT_THAT(all(Dataset::range(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(all(Dataset::range(5, 0, -2)), ElementsAre(5, 3, 1));
  EXPECT_THAT(all(Dataset::range(3, 3)), IsEmpty());
  EXPECT_THAT(all(Dataset::range(INT64_MAX - 1, INT64_MAX, 2)),
              ElementsAre(INT64_MAX - 1));
}

TEST(Dataset, SlicesShareTheMemoryOfTheTensor) {
  const Tensor tensor = Tensor::zeros({3, 4});
  const Dataset dataset = Dataset::from_tensor_slices({tensor});
  DatasetIterator it = dataset.iterate();
  (void)it.next().value();
  const DataElement row = *it.next().value();
  EXPECT_EQ(row[0].data(), static_cast<const char*>(tensor.data()) + 16);
  EXPECT_EQ(row[0].shape(), Shape({4}));
  EXPECT_FALSE(row[0].unique());
}

TEST(Dataset, RefusesSlicesOfDifferentLengths) {
  EXPECT_THAT(thrown([] {
                (void)Dataset::from_tensor_slices({ints({1, 2}), ints({1})});
              }),
              HasSubstr("component 1 has 1 rows, component 0 has 2"));
  EXPECT_THAT(thrown([] {
                (void)Dataset::from_tensor_slices({Tensor::full({}, 1.0f)});
              }),
              HasSubstr("a scalar has no rows"));
  EXPECT_THAT(thrown([] { (void)Dataset::from_tensor_slices({}); }),
              HasSubstr("no tensors"));
  EXPECT_THAT(thrown([] { (void)Dataset::range(0, 1, 0); }),
              HasSubstr("step is 0"));
}

DataGeneratorMaker counter(int64_t n) {
  return [n]() -> DataGenerator {
    return [n, i = int64_t{0}]() mutable -> NextElement {
      if (i == n) return std::optional<DataElement>();
      return std::optional(DataElement{Tensor::full({}, i++)});
    };
  };
}

TEST(Dataset, GeneratorsBeginAgain) {
  const Dataset dataset = Dataset::from_generator(counter(3), kScalar);
  EXPECT_THAT(all(dataset), ElementsAre(0, 1, 2));
  EXPECT_THAT(all(dataset.repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Dataset, ChecksWhatAGeneratorGives) {
  DatasetIterator it =
      Dataset::from_generator(counter(3), {{DType::kF32, {}}}).iterate();
  const Status status = it.next().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("Dataset.from_generator, element 0: component 0 has "
                        "elements of i64, expected f32"));
}

TEST(Dataset, MapsByAFunction) {
  EXPECT_THAT(all(Dataset::range(3).map(times_ten(), kScalar)),
              ElementsAre(0, 10, 20));
}

TEST(Dataset, MapsByAGraph) {
  const Dataset doubled = Dataset::range(3).batch(2).map(
      [](Graph& g, const std::vector<Value>& x) -> std::vector<Value> {
        return {x[0] + x[0], cast(x[0], DType::kF32),
                constant(g, Tensor::full({}, 1.0f))};
      });
  ASSERT_EQ(doubled.types().size(), 3U);
  EXPECT_EQ(doubled.types()[1].dtype, DType::kF32);
  EXPECT_EQ(doubled.types()[1].shape, PartialShape({kAny}));
  EXPECT_THAT(all(doubled), ElementsAre(0, 2, 4));
}

TEST(Dataset, RefusesGraphsOfOtherTypes) {
  EXPECT_THAT(
      thrown([] {
        (void)Dataset::range(3).map([](Graph&, const std::vector<Value>&) {
          return std::vector<Value>();
        });
      }),
      HasSubstr("Dataset.map: the function gives nothing"));
  EXPECT_THAT(thrown([] {
                (void)Dataset::range(3).filter(
                    [](Graph&, const std::vector<Value>& x) { return x; });
              }),
              HasSubstr("expected a scalar of bool"));
  Graph other;
  const Value elsewhere = constant(other, Tensor::full({}, 1.0f));
  EXPECT_THAT(
      thrown([&] {
        (void)Dataset::range(3).map([&](Graph&, const std::vector<Value>&) {
          return std::vector<Value>{elsewhere};
        });
      }),
      HasSubstr("another graph"));
}

TEST(Dataset, ParallelCallsKeepTheOrder) {
  // The first call ends only when others have begun, so several do run at once.
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0;
  auto function = [&](const DataElement& element) -> Result<DataElement> {
    {
      std::unique_lock lock(mutex);
      ++begun;
      changed.notify_all();
      if (only(element) == 0) changed.wait(lock, [&] { return begun > 2; });
    }
    return DataElement{Tensor::full({}, 10 * only(element))};
  };
  const Dataset mapped =
      Dataset::range(100).map(function, kScalar, {.num_parallel_calls = 3});
  std::vector<int64_t> expected = count_to(100);
  for (int64_t& value : expected) value *= 10;
  EXPECT_EQ(all(mapped), expected);
}

// Each alone, and several.
class Failures : public testing::TestWithParam<int> {};

TEST_P(Failures, NameStageAndElementAndPass) {
  auto function = [](const DataElement& element) -> Result<DataElement> {
    if (only(element) == 3)
      return error(Code::kInvalidArgument, "three is bad");
    if (only(element) == 4) throw Error(Code::kResource, "four is worse");
    return DataElement{Tensor::full({}, only(element))};
  };
  DatasetIterator it =
      Dataset::range(6)
          .map(function, kScalar, {.num_parallel_calls = GetParam()})
          .prefetch(2)
          .iterate();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(only(*it.next().value()), i);
  EXPECT_EQ(it.next().status().message(),
            "Dataset.map, element 3: three is bad");
  const Status second = it.next().status();
  EXPECT_EQ(second.code(), Code::kResource);
  EXPECT_EQ(second.message(), "Dataset.map, element 4: four is worse");
  EXPECT_EQ(only(*it.next().value()), 5);
  EXPECT_FALSE(it.next().value());
}

TEST_P(Failures, OfWhatAFunctionGives) {
  auto function = [](const DataElement&) -> Result<DataElement> {
    return DataElement{Tensor::full({}, 1.0f)};
  };
  DatasetIterator it =
      Dataset::range(6)
          .map(function, kScalar, {.num_parallel_calls = GetParam()})
          .iterate();
  EXPECT_THAT(it.next().status().message(),
              HasSubstr("what the function gave: component 0 has elements of "
                        "f32, expected i64"));
}
INSTANTIATE_TEST_SUITE_P(Calls, Failures, testing::Values(0, 1, 3));

TEST(Dataset, Filters) {
  const Dataset even =
      Dataset::range(10).filter([](const DataElement& element) -> Result<bool> {
        return only(element) % 2 == 0;
      });
  EXPECT_THAT(all(even), ElementsAre(0, 2, 4, 6, 8));
  const Dataset small = Dataset::range(10).filter(
      [](Graph& g, const std::vector<Value>& x) -> std::vector<Value> {
        return {less(x[0], constant(g, 3, DType::kI64))};
      });
  EXPECT_THAT(all(small), ElementsAre(0, 1, 2));
}

TEST(Dataset, BatchesWithAndWithoutTheRest) {
  std::vector<int64_t> sizes;
  DatasetIterator it = Dataset::range(7).batch(3).iterate();
  while (auto batch = it.next().value()) sizes.push_back((*batch)[0].count());
  EXPECT_THAT(sizes, ElementsAre(3, 3, 1));
  EXPECT_EQ(all(Dataset::range(7).batch(3)), count_to(7));
  EXPECT_EQ(all(Dataset::range(7).batch(3, {.drop_remainder = true})),
            count_to(6));
  EXPECT_THAT(all(Dataset::range(2).batch(3, {.drop_remainder = true})),
              IsEmpty());
  EXPECT_EQ(Dataset::range(7).batch(3).types()[0].shape, PartialShape({kAny}));
  EXPECT_EQ(
      Dataset::range(7).batch(3, {.drop_remainder = true}).types()[0].shape,
      PartialShape({3}));
}

TEST(Dataset, BatchesLargeRowsOnSeveralThreads) {
  constexpr int64_t kRows = 9;
  constexpr int64_t kWidth = 300'000;  // more than a thread takes at once
  Tensor tensor = Tensor::empty({kRows, kWidth}, DType::kI64);
  for (int64_t i = 0; i < kRows * kWidth; ++i)
    tensor.span<int64_t>()[static_cast<size_t>(i)] = i;
  EXPECT_EQ(all(Dataset::from_tensor_slices({tensor}).batch(kRows)),
            count_to(kRows * kWidth));
}

// Vectors of the lengths 1, 2, 3, …
Dataset lengths(int64_t n) {
  return Dataset::range(n).map(
      [](const DataElement& element) -> Result<DataElement> {
        return DataElement{Tensor::full({only(element) + 1}, only(element))};
      },
      {{DType::kI64, {kAny}}});
}

TEST(Dataset, RefusesToBatchDifferentShapes) {
  DatasetIterator it = lengths(3).batch(3).iterate();
  EXPECT_EQ(it.next().status().message(),
            "Dataset.batch, element 0: component 0 has shape [1] in the "
            "batch's first element and [2] in its element 1; use padded_batch");
}

TEST(Dataset, PadsBatches) {
  EXPECT_THAT(all(lengths(3).padded_batch(2)),
              ElementsAre(0, 0, 1, 1, 2, 2, 2));
  const Dataset wide = lengths(2).padded_batch(
      2, {.padded_shapes = {{3}}, .padding_values = {ints({9}).reshape({})}});
  EXPECT_THAT(all(wide), ElementsAre(0, 9, 9, 1, 1, 9));
  EXPECT_EQ(wide.types()[0].shape, PartialShape({kAny, 3}));

  DatasetIterator narrow =
      lengths(3).padded_batch(3, {.padded_shapes = {{2}}}).iterate();
  EXPECT_THAT(narrow.next().status().message(),
              HasSubstr("component 0 has shape [3], which is larger than [2]"));
  EXPECT_THAT(thrown([] {
                (void)lengths(3).padded_batch(
                    3, {.padding_values = {Tensor::full({}, 1.0f)}});
              }),
              HasSubstr("padding value 0 is f32[], expected a scalar of i64"));
}

TEST(Dataset, PadsInnerAxes) {
  const Dataset dataset = Dataset::range(2).map(
      [](const DataElement& element) -> Result<DataElement> {
        const int64_t n = only(element) + 1;
        return DataElement{Tensor::full({2, n}, n)};
      },
      {{DType::kI64, {2, kAny}}});
  EXPECT_THAT(all(dataset.padded_batch(2)),
              ElementsAre(1, 0, 1, 0, 2, 2, 2, 2));
}

TEST(Dataset, ShufflesTheSameWayForASeed) {
  const Dataset shuffled = Dataset::range(1000).shuffle(1000, {.seed = 7});
  const auto order = all(shuffled);
  EXPECT_NE(order, count_to(1000));
  EXPECT_THAT(order, UnorderedElementsAreArray(count_to(1000)));
  EXPECT_EQ(all(Dataset::range(1000).shuffle(1000, {.seed = 7})), order);
  EXPECT_NE(all(Dataset::range(1000).shuffle(1000, {.seed = 8})), order);
  EXPECT_NE(all(shuffled, 1), order) << "another pass, another order";
  EXPECT_EQ(all(shuffled, 1), all(shuffled, 1));
}

TEST(Dataset, ShufflesSlicesAsItDoesOthers) {
  const Dataset slices = Dataset::from_tensor_slices({ints(count_to(100))});
  for (const int64_t size : {1, 7, 100, 1000})
    EXPECT_EQ(all(slices.shuffle(size, {.seed = 7})),
              all(Dataset::range(100).shuffle(size, {.seed = 7})));
}

TEST(Dataset, ShufflesWithinTheBuffer) {
  const auto order = all(Dataset::range(1000).shuffle(10, {.seed = 7}));
  EXPECT_THAT(order, UnorderedElementsAreArray(count_to(1000)));
  for (size_t i = 0; i < order.size(); ++i)
    EXPECT_LE(order[i], static_cast<int64_t>(i) + 9);
}

TEST(Dataset, RepetitionsHaveOrdersOfTheirOwn) {
  auto halves = [](const Dataset& dataset) {
    const auto both = all(dataset.repeat(2));
    EXPECT_EQ(both.size(), 200U);
    return std::pair(std::vector(both.begin(), both.begin() + 100),
                     std::vector(both.begin() + 100, both.end()));
  };
  const auto [first, second] =
      halves(Dataset::range(100).shuffle(100, {.seed = 7}));
  EXPECT_NE(first, second);
  const auto [same, again] = halves(Dataset::range(100).shuffle(
      100, {.seed = 7, .reshuffle_each_iteration = false}));
  EXPECT_EQ(same, again);
  EXPECT_EQ(same, first);
}

TEST(Dataset, RepeatsTakesSkipsAndShards) {
  EXPECT_THAT(all(Dataset::range(2).repeat(3)), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(all(Dataset::range(2).repeat(0)), IsEmpty());
  EXPECT_THAT(all(Dataset::range(2).repeat().take(5)),
              ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(all(Dataset::range(0).repeat()), IsEmpty());
  EXPECT_THAT(all(Dataset::range(3).take(-1)), ElementsAre(0, 1, 2));
  EXPECT_THAT(all(Dataset::range(3).take(9)), ElementsAre(0, 1, 2));
  EXPECT_THAT(all(Dataset::range(3).skip(2)), ElementsAre(2));
  EXPECT_THAT(all(Dataset::range(3).skip(9)), IsEmpty());
  EXPECT_THAT(all(Dataset::range(3).skip(-1)), IsEmpty());
  EXPECT_THAT(all(Dataset::range(10).shard(3, 1)), ElementsAre(1, 4, 7));
}

TEST(Dataset, ZipsAndConcatenates) {
  const Dataset both =
      Dataset::zip({Dataset::range(9), Dataset::range(10, 12)});
  ASSERT_EQ(both.types().size(), 2U);
  DatasetIterator it = both.iterate();
  EXPECT_EQ((*it.next().value())[1].span<int64_t>()[0], 10);
  EXPECT_EQ((*it.next().value())[1].span<int64_t>()[0], 11);
  EXPECT_FALSE(it.next().value());
  EXPECT_FALSE(it.next().value());
  EXPECT_THAT(all(Dataset::range(2).concatenate(Dataset::range(7, 9))),
              ElementsAre(0, 1, 7, 8));
  EXPECT_THAT(thrown([] {
                (void)Dataset::range(2).concatenate(
                    Dataset::from_tensors({Tensor::full({}, 1.0f)}));
              }),
              HasSubstr("component 0 has type i64 here and f32 there"));
}

TEST(Dataset, Interleaves) {
  auto count = [](const DataElement& element) -> Result<Dataset> {
    return Dataset::range(10 * only(element), 10 * only(element) + 3);
  };
  EXPECT_THAT(
      all(Dataset::range(3).interleave(count, kScalar, {.cycle_length = 2})),
      ElementsAre(0, 10, 1, 11, 2, 12, 20, 21, 22));
  EXPECT_THAT(all(Dataset::range(3).interleave(
                  count, kScalar, {.cycle_length = 2, .block_length = 2})),
              ElementsAre(0, 1, 10, 11, 2, 12, 20, 21, 22));
  EXPECT_THAT(all(Dataset::range(3).interleave(count, kScalar)),
              ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22));
}

TEST(Dataset, RefusesNumbersThatMakeNoSense) {
  const Dataset d = Dataset::range(3);
  EXPECT_THAT(thrown([&] { (void)d.batch(0); }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(thrown([&] { (void)d.shuffle(0); }),
              HasSubstr("buffer_size is 0"));
  EXPECT_THAT(thrown([&] { (void)d.prefetch(0); }),
              HasSubstr("buffer_size is 0"));
  EXPECT_THAT(thrown([&] { (void)d.repeat(-2); }), HasSubstr("count is -2"));
  EXPECT_THAT(thrown([&] { (void)d.shard(2, 2); }),
              HasSubstr("index is 2 of 2 shards"));
  EXPECT_THAT(thrown([&] { (void)Dataset::zip({}); }),
              HasSubstr("no data sets"));
  EXPECT_THAT(thrown([&] {
                (void)d.map(times_ten(), kScalar, {.num_parallel_calls = -1});
              }),
              HasSubstr("num_parallel_calls is -1"));
}

// ---- Threads ----------------------------------------------------------------

TEST(Prefetch, StaysWithinItsBuffer) {
  std::atomic<int64_t> made = 0;
  auto counting = [&](const DataElement& element) -> Result<DataElement> {
    ++made;
    return element;
  };
  DatasetIterator it =
      Dataset::range(100).map(counting, kScalar).prefetch(3).iterate();
  EXPECT_EQ(made, 0) << "nobody has asked yet";
  EXPECT_EQ(only(*it.next().value()), 0);
  while (made < 4) std::this_thread::yield();
  // One given, three in the buffer, and none before another is asked for.
  EXPECT_EQ(made, 4);
  EXPECT_EQ(only(*it.next().value()), 1);
}

TEST(Prefetch, GivesAllInOrder) {
  EXPECT_EQ(all(Dataset::range(1000).prefetch(1).prefetch(7)), count_to(1000));
}

TEST(Threads, EndWithTheIteratorInTheMiddle) {
  // Endless work behind each other's backs, left in the middle; and work that
  // never gives anything.
  auto never = [](const DataElement&) -> Result<bool> { return false; };
  auto same = [](DataElement element) -> Result<DataElement> {
    return element;
  };
  const Dataset endless = Dataset::range(10).repeat();
  for (int i = 0; i < 20; ++i) {
    DatasetIterator it = endless.prefetch(2)
                             .map(same, kScalar, {.num_parallel_calls = 2})
                             .prefetch(2)
                             .iterate();
    EXPECT_TRUE(it.next().value());
  }
  DatasetIterator nothing = endless.filter(never)
                                .prefetch(1)
                                .map(same, kScalar, {.num_parallel_calls = 2})
                                .iterate();
  std::thread waiting(
      [&] { EXPECT_EQ(nothing.next().status().code(), Code::kCancelled); });
  nothing.cancel(Status(Code::kCancelled, "enough"));
  waiting.join();
  EXPECT_EQ(nothing.next().status().message(), "enough");
}

TEST(Threads, EndWhenARepetitionIsDropped) {
  auto same = [](DataElement element) -> Result<DataElement> {
    return element;
  };
  const Dataset dataset = Dataset::range(10)
                              .repeat()
                              .prefetch(2)
                              .map(same, kScalar, {.num_parallel_calls = 2})
                              .take(2)
                              .repeat(50);
  EXPECT_EQ(all(dataset).size(), 100U);
}

TEST(Threads, OneDescriptionServesSeveralIterators) {
  const Dataset dataset = Dataset::range(200).map(
      [](Graph&, const std::vector<Value>& x) -> std::vector<Value> {
        return {x[0] + x[0]};
      },
      {.num_parallel_calls = 2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { EXPECT_EQ(all(dataset).back(), 398); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rondo
