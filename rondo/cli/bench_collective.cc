#include "rondo/cli/bench_collective.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

// A buffer in mapped or in ordinary memory.
class BenchBuffer {
 public:
  BenchBuffer(bool mapped, int64_t count, DType dtype) {
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    if (mapped) {
      tensor_ = Tensor::zeros({count}, dtype);
      view_ = tensor_;
    } else {
      memory_.reset(new (std::align_val_t(64)) char[bytes + 64]());
      view_ = {memory_.get(), count, dtype};
    }
  }
  View view() const { return view_; }

 private:
  struct Free {
    void operator()(char* p) const {
      operator delete[](p, std::align_val_t(64));
    }
  };
  Tensor tensor_;
  std::unique_ptr<char[], Free> memory_;
  View view_;
};

// Sets every element to the small whole number x, which every dtype holds.
void fill(View view, int x) {
  if (view.count == 0) return;
  char* data = static_cast<char*>(view.data);
  const size_t element = size_of(view.dtype);
  auto store = [&](auto value) { std::memcpy(data, &value, sizeof value); };
  switch (view.dtype) {
    case DType::kF64: store(static_cast<double>(x)); break;
    case DType::kF32: store(static_cast<float>(x)); break;
    case DType::kF16: store(Half::from_float(static_cast<float>(x))); break;
    case DType::kBF16:
      store(BFloat16::from_float(static_cast<float>(x)));
      break;
    case DType::kI64: store(static_cast<int64_t>(x)); break;
    case DType::kI32: store(static_cast<int32_t>(x)); break;
    case DType::kI16: store(static_cast<int16_t>(x)); break;
    case DType::kI8:
    case DType::kU8: store(static_cast<uint8_t>(x)); break;
    case DType::kBool: store(x != 0); break;
  }
  // Doubling copies: as fast as memcpy.
  const size_t bytes = static_cast<size_t>(view.count) * element;
  for (size_t done = element; done < bytes;) {
    const size_t n = std::min({done, bytes - done, size_t{64} << 10});
    std::memcpy(data + done, data, n);
    done += n;
  }
}

// Whether every element equals x: the first does, and each equals the one a
// kilobyte before it or the first.
bool holds(View view, int x) {
  if (view.count == 0) return true;
  const size_t element = size_of(view.dtype);
  const size_t bytes = static_cast<size_t>(view.count) * element;
  const size_t period = std::min(bytes, size_t{16} << 10);
  std::vector<char> pattern(period);
  fill({pattern.data(), static_cast<int64_t>(period / element), view.dtype}, x);
  const char* data = static_cast<const char*>(view.data);
  for (size_t at = 0; at < bytes; at += period)
    if (std::memcmp(data + at, pattern.data(), std::min(period, bytes - at)) !=
        0)
      return false;
  return true;
}

// One collective as the bench sees it: how long its buffers are, what goes in,
// the call, what must come out, and the factor from algbw to busbw.
struct Case {
  std::string name;
  int64_t in_count = 0;
  int64_t out_count = 0;
  double bus_factor = 1;
  bool in_place = false;
  std::function<Status(Communicator&, View in, View out, const CallOptions&)>
      call;
  std::function<bool(const Communicator&, View out)> right;
};

constexpr int kInput = 1;  // what every rank puts in

Result<Case> make_case(const std::string& name, const Communicator& comm,
                       int64_t count) {
  const int n = comm.size();
  const double share = static_cast<double>(n - 1) / n;
  const int64_t block = (count + n - 1) / n;
  auto sum = [n](const Communicator&, View out) { return holds(out, n); };
  auto same = [](const Communicator&, View out) { return holds(out, kInput); };
  auto always = [](const Communicator&, View) { return true; };
  if (name == "allreduce")
    return Case{name,
                count,
                count,
                2 * share,
                true,
                [](Communicator& c, View in, View, const CallOptions& o) {
                  return c.allreduce(in, o);
                },
                sum};
  if (name == "reduce")
    return Case{name,
                count,
                count,
                1,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.reduce(in, out, o);
                },
                [n](const Communicator& c, View out) {
                  return c.rank() != 0 || holds(out, n);
                }};
  if (name == "broadcast")
    return Case{name,
                count,
                count,
                1,
                true,
                [](Communicator& c, View in, View, const CallOptions& o) {
                  return c.broadcast(in, o);
                },
                same};
  if (name == "allgather")
    return Case{name,
                block,
                block * n,
                share,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.allgather(in, out, o);
                },
                same};
  if (name == "reduce_scatter")
    return Case{name,
                block * n,
                block,
                share,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.reduce_scatter(in, out, o);
                },
                sum};
  if (name == "gather")
    return Case{name,
                block,
                block * n,
                share,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.gather(in, out, o);
                },
                [](const Communicator& c, View out) {
                  return c.rank() != 0 || holds(out, kInput);
                }};
  if (name == "scatter")
    return Case{name,
                block * n,
                block,
                share,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.scatter(in, out, o);
                },
                same};
  if (name == "all_to_all")
    return Case{name,
                block * n,
                block * n,
                share,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  return c.all_to_all(in, out, o);
                },
                same};
  if (name == "sendrecv")
    return Case{name,
                count,
                count,
                1,
                false,
                [](Communicator& c, View in, View out, const CallOptions& o) {
                  const int n_ranks = c.size();
                  return c.sendrecv(in, (c.rank() + 1) % n_ranks, out,
                                    (c.rank() + n_ranks - 1) % n_ranks, o);
                },
                same};
  if (name == "barrier")
    return Case{name,
                0,
                0,
                0,
                true,
                [](Communicator& c, View, View, const CallOptions& o) {
                  return c.barrier(o);
                },
                always};
  std::string known;
  for (const std::string& k : bench_collectives())
    known += (known.empty() ? "" : ", ") + k;
  return error(Code::kInvalidArgument,
               "there is no collective \"{}\" to measure; there are {}", name,
               known);
}

int default_iterations(int64_t bytes) {
  if (bytes <= (64 << 10)) return 2000;
  if (bytes <= (1 << 20)) return 500;
  if (bytes <= (16 << 20)) return 100;
  if (bytes <= (64 << 20)) return 30;
  return 12;
}

std::string transports(const Communicator& comm) {
  std::string text;
  for (int peer = 0; peer < comm.size(); ++peer) {
    const std::string name(comm.transport_to(peer));
    if (peer == comm.rank() || text.find(name) != std::string::npos) continue;
    text += (text.empty() ? "" : "+") + name;
  }
  return text.empty() ? "self" : text;
}

}  // namespace

std::vector<std::string> bench_collectives() {
  return {"allreduce", "reduce",  "broadcast",  "allgather", "reduce_scatter",
          "gather",    "scatter", "all_to_all", "sendrecv",  "barrier"};
}

Result<BenchRow> bench_collective(Communicator& comm,
                                  const BenchOptions& options, int64_t bytes) {
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  const int64_t count = (bytes + element - 1) / element;
  RONDO_ASSIGN_OR_RETURN(Case test, make_case(options.collective, comm, count));
  const bool mapped = options.buffers == "mapped";
  BenchBuffer in(mapped, test.in_count, options.dtype);
  BenchBuffer other(mapped, test.in_place ? 0 : test.out_count, options.dtype);
  const View out = test.in_place ? in.view() : other.view();
  CallOptions call;
  if (options.collective == "allreduce") call.algorithm = options.algorithm;

  const int wanted =
      options.iterations > 0 ? options.iterations : default_iterations(bytes);
  const int warm_up = std::max(1, wanted / 5);
  std::vector<double> times;
  bool correct = true;
  // One small vector of doubles carries what the ranks agree on per iteration.
  Tensor agreed = Tensor::zeros({3}, DType::kF64);
  const auto begin = Clock::now();
  for (int i = 0; i < warm_up + wanted; ++i) {
    fill(in.view(), kInput);
    if (!test.in_place) fill(out, 0);
    RONDO_RETURN_IF_ERROR(comm.barrier());
    const auto start = Clock::now();
    RONDO_RETURN_IF_ERROR(test.call(comm, in.view(), out, call));
    const auto end = Clock::now();
    const bool right = test.right(comm, out);
    auto values = agreed.span<double>();
    values[0] = to_seconds(end - start);
    values[1] = to_seconds(end - begin);
    values[2] = right ? 0 : 1;
    RONDO_RETURN_IF_ERROR(comm.allreduce(agreed, {.op = ReduceOp::kMax}));
    correct = correct && values[2] == 0;
    const bool late = values[1] > options.seconds;
    if (i >= warm_up || (late && i > 0)) times.push_back(values[0]);
    if (options.iterations == 0 && late && times.size() >= 5) break;
  }
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) {
    return times[static_cast<size_t>(
        std::ceil(q * static_cast<double>(times.size() - 1)))];
  };
  BenchRow row;
  row.collective = options.collective;
  row.ranks = comm.size();
  row.transport = transports(comm);
  row.algorithm = options.collective != "allreduce" ? "auto"
                  : options.algorithm != "auto"
                      ? options.algorithm
                      : std::string(comm.algorithm_for(count, options.dtype));
  row.buffers = options.buffers;
  row.dtype = name_of(options.dtype);
  row.bytes = count * element;
  row.iterations = static_cast<int>(times.size());
  row.median_us = times[times.size() / 2] * 1e6;
  row.min_us = times.front() * 1e6;
  row.p99_us = quantile(0.99) * 1e6;
  row.algbw_gbps = static_cast<double>(row.bytes) / row.median_us / 1e3;
  row.busbw_gbps = row.algbw_gbps * test.bus_factor;
  row.correct = correct;
  return row;
}

std::string to_json(const std::vector<BenchRow>& rows) {
  std::string text = "[";
  for (const BenchRow& r : rows)
    text += fmt::format(
        "{}\n  {{\"collective\": \"{}\", \"ranks\": {}, \"transport\": \"{}\", "
        "\"algorithm\": \"{}\", \"buffers\": \"{}\", \"dtype\": \"{}\", "
        "\"bytes\": {}, \"iterations\": {}, \"median_us\": {:.3f}, "
        "\"min_us\": {:.3f}, \"p99_us\": {:.3f}, \"algbw_gbps\": {:.4f}, "
        "\"busbw_gbps\": {:.4f}, \"correct\": {}}}",
        text.size() > 1 ? "," : "", r.collective, r.ranks, r.transport,
        r.algorithm, r.buffers, r.dtype, r.bytes, r.iterations, r.median_us,
        r.min_us, r.p99_us, r.algbw_gbps, r.busbw_gbps, r.correct);
  return text + "\n]\n";
}

}  // namespace rondo
