// One thread builds a graph while others run parts of it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

TEST(ConcurrentBuild, RunsAreCompiledWhileTheGraphGrows) {
  Graph g;
  const Value x = placeholder(g, {.dtype = DType::kF64, .shape = {kAny}});
  // Each is compiled when it is first run, so while others are made.
  constexpr int kParts = 200;
  std::vector<Value> parts(kParts);
  std::atomic<int> made = 0;
  std::thread builder([&] {
    Value sum = x;
    for (int i = 0; i < kParts; ++i) {
      const NameScope scope(g, "part");
      sum = sum + 1.0;
      // Nodes that exist get edges, and values collections.
      const Value looped = while_loop(
          [&](const Values& v) {
            return less(v[0], constant(g, 2, DType::kF64));
          },
          [&](const Values& v) {
            return Values{v[0] + 1.0, v[1]};
          },
          {constant(g, 0, DType::kF64), sum})[1];
      x.node->set_shape(0, {kAny});
      g.collection("parts").push_back(looped);
      parts[static_cast<size_t>(i)] = looped;
      made.store(i + 1, std::memory_order_release);
    }
  });
  Session session(g, {.intra_op_threads = 1});
  const Tensor in = Tensor::full<double>({2}, 5);
  std::atomic<bool> wrong = false;
  auto run_all = [&] {
    for (int next = 0; next < kParts;) {
      const int last = made.load(std::memory_order_acquire);
      if (next == last) {
        std::this_thread::yield();
        continue;
      }
      // The newest, and those between now and then.
      next = last;
      const auto got =
          session.run(parts[static_cast<size_t>(next - 1)], {{x, in}});
      if (!got.ok() || got->span<double>()[1] != 5 + next) wrong = true;
    }
  };
  std::thread one(run_all), two(run_all);
  builder.join();
  one.join();
  two.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace rondo
