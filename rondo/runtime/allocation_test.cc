// That a training step takes no memory once it has run before. An executable of
// its own, as it counts what `operator new` hands out.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/runtime/session.h"
#include "rondo/tensor/heap.h"

namespace {

std::atomic<int64_t> news = 0;

void* counted(size_t bytes, size_t alignment) {
  ++news;
  void* p = alignment == 0
                ? std::malloc(bytes)
                : std::aligned_alloc(alignment, (bytes + alignment - 1) /
                                                    alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, 0); }
void* operator new[](size_t bytes) { return counted(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace rondo {
namespace {

// What session and kernels may still take from `operator new` in a step of
// three layers.
constexpr double kNews = 100;

struct Counts {
  double buffers;
  double news;
};

// Of one run, on average, once it has run a few times.
template <class Run>
Counts counts_of(Run run) {
  constexpr int kRuns = 20;
  for (int i = 0; i < 5; ++i) run();
  const uint64_t buffers = SharedHeap::process().allocations();
  const int64_t small = news;
  for (int i = 0; i < kRuns; ++i) run();
  const int64_t after = news;
  return {static_cast<double>(SharedHeap::process().allocations() - buffers) /
              kRuns,
          static_cast<double>(after - small) / kRuns};
}

class Mlp : public testing::TestWithParam<int> {
 protected:
  Mlp() {
    Value h = x;
    for (const auto& [in, out] : {std::pair(32, 64), {64, 64}, {64, 10}}) {
      const Value w = variable(g, truncated_normal(g, {in, out}, 0, 0.1));
      const Value b = variable(g, zeros(g, {out}));
      h = bias_add(matmul(h, w), b);
      if (out != 10) h = relu(h);
    }
    loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(h, y));
    train = &Momentum({.learning_rate = 0.01}).minimize(loss);
    session.run(initializer(g)).value();
  }

  Graph g;
  Value x = placeholder(g, {.shape = {16, 32}});
  Value y = placeholder(g, {.dtype = DType::kI32, .shape = {16}});
  Value loss;
  Node* train = nullptr;
  Session session{g, {.inter_op_threads = GetParam(), .intra_op_threads = 1}};
  const std::vector<Feed> feeds{{x, Tensor::zeros({16, 32})},
                                {y, Tensor::zeros({16}, DType::kI32)}};
};
INSTANTIATE_TEST_SUITE_P(Threads, Mlp, testing::Values(1, 2));

TEST_P(Mlp, AStepTakesNoBuffersFromTheSystem) {
  const std::vector<Value> fetches{loss};
  const std::vector<Node*> targets{train};
  const Counts counts =
      counts_of([&] { session.run(fetches, feeds, targets).value(); });
  EXPECT_EQ(counts.buffers, 0);
  RecordProperty("news", std::to_string(counts.news));
  fmt::print("operator new: {} times a step\n", counts.news);
  EXPECT_LE(counts.news, kNews);
}

TEST_P(Mlp, NodesThemselvesTakeNothing) {
  // Twice as many nodes, no more memory.
  Value chain = x;
  std::vector<Value> ends;
  for (int i = 0; i < 40; ++i) {
    chain = identity(relu(chain));
    if (i == 19 || i == 39) ends.push_back(chain);
  }
  const std::vector<Feed> fed{feeds[0]};
  const std::vector<Value> half{ends[0]}, all{ends[1]};
  const Counts a = counts_of([&] { session.run(half, fed).value(); });
  const Counts b = counts_of([&] { session.run(all, fed).value(); });
  EXPECT_EQ(a.buffers, 0);
  EXPECT_EQ(b.buffers, 0);
  EXPECT_NEAR(a.news, b.news, 1);
}

TEST(Loop, TakesNoBuffersFromTheSystem) {
  Graph g;
  const Value x = placeholder(g, {.shape = {16}});
  const Values left = while_loop(
      [&](const Values& v) { return less(v[0], constant(g, 10, DType::kF32)); },
      [&](const Values& v) {
        return Values{v[0] + 1.0, v[1] * 0.5};
      },
      {constant(g, 0, DType::kF32), x});
  Session session(g, {.intra_op_threads = 1});
  const std::vector<Value> fetches{left[1]};
  const std::vector<Feed> fed{{x, Tensor::zeros({16})}};
  const Counts counts = counts_of([&] { session.run(fetches, fed).value(); });
  EXPECT_EQ(counts.buffers, 0);
}

}  // namespace
}  // namespace rondo
