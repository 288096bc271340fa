#include "rondo/runtime/contention.h"

#include <algorithm>
#include <barrier>
#include <thread>

#include "rondo/base/clock.h"
#include "rondo/kernels/cpu/gemm.h"
#include "rondo/runtime/intra_op.h"

namespace rondo {
namespace {

// More at once are not measured: they count as these.
constexpr int kMostNodes = 8;
constexpr int kRounds = 7;
// Of so small a matrix that three of them are in the cache of a core, so that
// only its units of arithmetic are shared.
constexpr int64_t kSide = 96;
constexpr int kProducts = 4;

// The middle one of a few times that `nodes` threads take, each for the same.
double seconds_of(int nodes, int intra_op_threads) {
  std::vector<Clock::duration> times;
  Clock::time_point started;
  std::barrier begin(nodes, [&]() noexcept { started = Clock::now(); });
  std::barrier end(nodes,
                   [&]() noexcept { times.push_back(Clock::now() - started); });
  auto work = [&] {
    const IntraOpThreads threads(intra_op_threads);
    const Tensor a = Tensor::full({kSide, kSide}, 0.5f);
    Tensor c = Tensor::zeros({kSide, kSide});
    const GemmShape shape{.m = kSide, .n = kSide, .k = kSide};
    // The first round, in which memory is touched, counts too: it is one of
    // many.
    for (int round = 0; round < kRounds; ++round) {
      begin.arrive_and_wait();
      for (int i = 0; i < kProducts; ++i)
        gemm(DType::kF32, shape, a.data(), a.data(), c.data());
      end.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < nodes; ++i) others.emplace_back(work);
    work();
  }
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return to_seconds(times[kRounds / 2]);
}

}  // namespace

std::vector<double> measure_contention(int nodes, int intra_op_threads) {
  std::vector<double> slower;
  const double alone = seconds_of(1, intra_op_threads);
  for (int n = 2; n <= std::min(nodes, kMostNodes); ++n) {
    const double all = seconds_of(n, intra_op_threads) / alone;
    // One after the other they would take n times as long; and who is joined
    // by one more is not the faster for it.
    slower.push_back(std::clamp(all, slower.empty() ? 1 : slower.back(),
                                static_cast<double>(n)));
  }
  return slower;
}

}  // namespace rondo
