#include "rondo/runtime/contention.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <optional>
#include <system_error>
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

enum class Signal : uint8_t { kWait, kBegin, kLeave };

// Runs `work(i)` for each i below `nodes` at once, each in a thread. False: the
// system has no more threads, and none of them has begun.
template <class Work>
bool run_at_once(int nodes, const Work& work) {
  std::atomic<Signal> signal = Signal::kWait;
  const auto say = [&](Signal what) {
    signal = what;
    signal.notify_all();
  };
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < nodes; ++i)
      others.emplace_back([&, i] {
        signal.wait(Signal::kWait);
        if (signal == Signal::kBegin) work(i);
      });
  } catch (const std::system_error&) {
    say(Signal::kLeave);
    return false;
  }
  say(Signal::kBegin);
  work(0);
  return true;
}

// The middle one of a few times that `nodes` threads take, each for the same;
// nothing where they cannot be had.
std::optional<double> seconds_of(int nodes, int intra_op_threads) {
  std::vector<Clock::duration> times(kRounds);
  Clock::time_point started;
  size_t ended = 0;
  std::barrier begin(nodes, [&]() noexcept { started = Clock::now(); });
  std::barrier end(nodes,
                   [&]() noexcept { times[ended++] = Clock::now() - started; });
  const Tensor a = Tensor::full({kSide, kSide}, 0.5f);
  std::vector<Tensor> products;
  for (int i = 0; i < nodes; ++i)
    products.push_back(Tensor::zeros({kSide, kSide}));
  const bool ran = run_at_once(nodes, [&](int node) {
    const IntraOpThreads threads(intra_op_threads);
    void* product = products[static_cast<size_t>(node)].data();
    const GemmShape shape{.m = kSide, .n = kSide, .k = kSide};
    // The first round, in which memory is touched, counts too: it is one of
    // many.
    for (int round = 0; round < kRounds; ++round) {
      begin.arrive_and_wait();
      for (int i = 0; i < kProducts; ++i)
        gemm(DType::kF32, shape, a.data(), a.data(), product);
      end.arrive_and_wait();
    }
  });
  if (!ran) return {};
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return to_seconds(times[kRounds / 2]);
}

}  // namespace

std::vector<double> contention_of(std::span<const double> seconds) {
  std::vector<double> slower;
  for (size_t n = 2; n <= seconds.size(); ++n)
    // One after the other they would take n times as long; and who is joined
    // by one more is not the faster for it.
    slower.push_back(std::clamp(seconds[n - 1] / seconds[0],
                                slower.empty() ? 1 : slower.back(),
                                static_cast<double>(n)));
  return slower;
}

std::vector<double> measure_contention(int nodes, int intra_op_threads) {
  std::vector<double> seconds;
  for (int n = 1; n <= std::min(nodes, kMostNodes); ++n) {
    const auto taken = seconds_of(n, intra_op_threads);
    if (!taken) break;
    seconds.push_back(*taken);
  }
  return contention_of(seconds);
}

}  // namespace rondo
