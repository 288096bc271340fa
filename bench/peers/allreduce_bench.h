// How the peers' allreduce is timed: the same loop for each of them, and the
// same one as `rondo bench`.
//
// A call is timed by every rank, from a barrier to its return; the call's time
// is the maximum over the ranks. The input is rewritten before every call and
// the result checked after it, both outside the timed part: a buffer left as it
// was would measure the cache, and an unchecked sum might be no sum at all.
#ifndef RONDO_BENCH_PEERS_ALLREDUCE_BENCH_H_
#define RONDO_BENCH_PEERS_ALLREDUCE_BENCH_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace peers {

// What a peer offers. Owned by the program; called by one thread.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  // Sums `data` over the ranks, in place.
  virtual void allreduce(float* data, size_t count) = 0;
  // Replaces each value by its maximum over the ranks; never timed.
  virtual void maximum(double* values, size_t count) = 0;
};

struct Options {
  std::string peer;           // as the rows name it
  std::string transport;      // as the rows name it
  std::vector<size_t> sizes;  // bytes, multiples of 4
  size_t iterations = 0;      // timed calls per size; 0: by the size
  double seconds = 10;        // a size ends after this, but see kFewest
};

// A size gets at least this many timed calls, however slow they are.
inline constexpr size_t kFewest = 5;

inline size_t default_iterations(size_t bytes) {
  constexpr size_t kKi = 1024;
  if (bytes <= 64 * kKi) return 1000;
  if (bytes <= kKi * kKi) return 200;
  if (bytes <= 16 * kKi * kKi) return 40;
  if (bytes <= 64 * kKi * kKi) return 12;
  return kFewest;
}

// The input changes from call to call, rank to rank and element to element, and
// its sum is exact in float for any number of ranks up to about a thousand.
inline float pattern(size_t element, size_t call) {
  return static_cast<float>(((element + call) & 7) + 1);
}

inline void fill(std::vector<float>& data, int rank, size_t call) {
  const float factor = static_cast<float>(rank + 1);
  for (size_t i = 0; i < data.size(); ++i) data[i] = factor * pattern(i, call);
}

inline bool correct(const std::vector<float>& data, int ranks, size_t call) {
  const float factor = static_cast<float>(ranks * (ranks + 1) / 2);
  size_t wrong = 0;
  for (size_t i = 0; i < data.size(); ++i)
    wrong += data[i] != factor * pattern(i, call);
  return wrong == 0;
}

// `times` sorted. The smallest time that `part` of the calls did not exceed.
inline double quantile(const std::vector<double>& times, double part) {
  const double at = std::ceil(part * static_cast<double>(times.size()));
  return times[std::max<size_t>(1, static_cast<size_t>(at)) - 1];
}

inline void print_row(const Peer& peer, const Options& options, size_t bytes,
                      std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"peer\": \"%s\", \"ranks\": %d, \"transport\": \"%s\", "
      "\"bytes\": %zu, \"median_us\": %.3f, \"min_us\": %.3f, "
      "\"p99_us\": %.3f, \"iterations\": %zu}\n",
      options.peer.c_str(), peer.ranks(), options.transport.c_str(), bytes,
      quantile(times, 0.5) * 1e6, times.front() * 1e6,
      quantile(times, 0.99) * 1e6, times.size());
  std::fflush(stdout);
}

// Times one size; returns false where a rank got a wrong sum. All ranks take
// part in each call and leave the loop after the same one: rank 0's clock
// decides, and its decision travels with the times.
inline bool bench_size(Peer& peer, const Options& options, size_t bytes) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const size_t most =
      std::max(kFewest, options.iterations != 0 ? options.iterations
                                                : default_iterations(bytes));
  const size_t most_warm = most / 5 + 1;

  std::vector<float> data(bytes / sizeof(float));
  std::vector<double> times;
  bool warm = false;
  Clock::time_point start = Clock::now();
  for (size_t call = 0; times.size() < most; ++call) {
    fill(data, peer.rank(), call);
    peer.barrier();
    const Clock::time_point begin = Clock::now();
    peer.allreduce(data.data(), data.size());
    const double took = seconds_since(begin);

    const double limit = warm ? options.seconds : options.seconds / 5;
    std::array<double, 3> all = {
        took, correct(data, peer.ranks(), call) ? 0.0 : 1.0,
        peer.rank() == 0 && seconds_since(start) > limit ? 1.0 : 0.0};
    peer.maximum(all.data(), all.size());
    if (all[1] > 0) return false;
    const bool late = all[2] > 0;
    if (warm) {
      times.push_back(all[0]);
      if (late && times.size() >= kFewest) break;
    } else if (late || call + 1 >= most_warm) {
      warm = true;
      start = Clock::now();
    }
  }
  if (peer.rank() == 0) print_row(peer, options, bytes, times);
  return true;
}

// Times every size; the program's exit code.
inline int bench(Peer& peer, const Options& options) {
  for (size_t bytes : options.sizes) {
    if (bench_size(peer, options, bytes)) continue;
    if (peer.rank() == 0)
      std::fprintf(stderr, "%s: wrong sum at %zu bytes\n", options.peer.c_str(),
                   bytes);
    return 1;
  }
  return 0;
}

// Takes `--name value` pairs out of the arguments into the options; what it
// does not know goes to `other(name, value)`, which returns whether it knew.
// What is left are sizes in bytes.
template <typename Other>
Options parse(int argc, char** argv, Other&& other) {
  Options options;
  const auto fail = [&](const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", argv[0], what.c_str());
    std::exit(2);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      char* end = nullptr;
      const size_t bytes = std::strtoull(name.c_str(), &end, 10);
      if (*end != '\0' || bytes == 0 || bytes % sizeof(float) != 0)
        fail("size '" + name + "' is not a positive multiple of 4");
      options.sizes.push_back(bytes);
      continue;
    }
    if (i + 1 == argc) fail(name + " needs a value");
    const char* value = argv[++i];
    if (name == "--peer") {
      options.peer = value;
    } else if (name == "--transport") {
      options.transport = value;
    } else if (name == "--iterations") {
      options.iterations = std::strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::atof(value);
    } else if (!other(name, std::string(value))) {
      fail("unknown option " + name);
    }
  }
  if (options.sizes.empty()) fail("give the sizes in bytes");
  return options;
}

}  // namespace peers

#endif  // RONDO_BENCH_PEERS_ALLREDUCE_BENCH_H_
