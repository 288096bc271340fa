// Every transport x algorithm x dtype x operator x size, and every other
// collective, for one to nine ranks as threads.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/collectives/algorithms.h"
#include "rondo/collectives/communicator.h"
#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

constexpr DType kAllTypes[] = {
    DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
    DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};
constexpr ReduceOp kAllOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kProd,
                                ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kBand,
                                ReduceOp::kBor, ReduceOp::kBxor};

// Element i of rank r's vector: small numbers, so that every dtype holds every
// result exactly.
int value(int rank, int64_t i) { return 1 + static_cast<int>((rank + i) % 3); }

void store(DType dtype, void* data, int64_t i, double x) {
  switch (dtype) {
    case DType::kF64: static_cast<double*>(data)[i] = x; break;
    case DType::kF32:
      static_cast<float*>(data)[i] = static_cast<float>(x);
      break;
    case DType::kF16:
      static_cast<Half*>(data)[i] = Half::from_float(static_cast<float>(x));
      break;
    case DType::kBF16:
      static_cast<BFloat16*>(data)[i] =
          BFloat16::from_float(static_cast<float>(x));
      break;
    case DType::kI64:
      static_cast<int64_t*>(data)[i] = static_cast<int64_t>(x);
      break;
    case DType::kI32:
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(x);
      break;
    case DType::kI16:
      static_cast<int16_t*>(data)[i] = static_cast<int16_t>(x);
      break;
    case DType::kI8:
      static_cast<int8_t*>(data)[i] = static_cast<int8_t>(x);
      break;
    case DType::kU8:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(x);
      break;
    case DType::kBool: static_cast<bool*>(data)[i] = x != 0; break;
  }
}

double load(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::kF64: return static_cast<const double*>(data)[i];
    case DType::kF32: return static_cast<const float*>(data)[i];
    case DType::kF16: return static_cast<const Half*>(data)[i].to_float();
    case DType::kBF16: return static_cast<const BFloat16*>(data)[i].to_float();
    case DType::kI64:
      return static_cast<double>(static_cast<const int64_t*>(data)[i]);
    case DType::kI32: return static_cast<const int32_t*>(data)[i];
    case DType::kI16: return static_cast<const int16_t*>(data)[i];
    case DType::kI8: return static_cast<const int8_t*>(data)[i];
    case DType::kU8: return static_cast<const uint8_t*>(data)[i];
    case DType::kBool: return static_cast<const bool*>(data)[i] ? 1 : 0;
  }
  return 0;
}

// bool vectors: true where the value is not 1.
double input(DType dtype, int rank, int64_t i) {
  const int v = value(rank, i);
  return dtype == DType::kBool ? (v != 1 ? 1 : 0) : v;
}

double expected(DType dtype, ReduceOp op, int n, int64_t i) {
  double acc = input(dtype, 0, i);
  for (int r = 1; r < n; ++r) {
    const double x = input(dtype, r, i);
    const auto a = static_cast<int64_t>(acc);
    const auto b = static_cast<int64_t>(x);
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg: acc += x; break;
      case ReduceOp::kProd: acc *= x; break;
      case ReduceOp::kMin: acc = std::min(acc, x); break;
      case ReduceOp::kMax: acc = std::max(acc, x); break;
      case ReduceOp::kBand: acc = static_cast<double>(a & b); break;
      case ReduceOp::kBor: acc = static_cast<double>(a | b); break;
      case ReduceOp::kBxor: acc = static_cast<double>(a ^ b); break;
      case ReduceOp::kUser: break;
    }
  }
  if (dtype == DType::kBool && acc > 1) acc = 1;
  if (op != ReduceOp::kAvg) return acc;
  const bool integer = dtype >= DType::kI64;
  return integer ? std::trunc(acc / n) : acc / n;
}

// 3 * 2 * 1 over nine ranks is 6^3; i8 wraps around beyond 127, u8 beyond 255.
double wrapped(DType dtype, double x) {
  if (dtype == DType::kI8)
    return static_cast<int8_t>(static_cast<int64_t>(x) & 0xff);
  if (dtype == DType::kU8)
    return static_cast<uint8_t>(static_cast<int64_t>(x) & 0xff);
  return x;
}

double tolerance(DType dtype, ReduceOp op, double x) {
  if (op != ReduceOp::kAvg) return 0;
  switch (dtype) {
    case DType::kF64: return 1e-12;
    case DType::kF32: return 1e-6;
    case DType::kF16: return 2e-3 * std::abs(x);
    case DType::kBF16: return 2e-2 * std::abs(x);
    default: return 0;
  }
}

struct Buffers {
  Tensor mapped;
  std::vector<char> foreign;
  View view;
  Buffers(bool in_heap, int64_t count, DType dtype) {
    if (in_heap) {
      mapped = Tensor::empty({count}, dtype);
      view = mapped;
    } else {
      foreign.resize(static_cast<size_t>(count) * size_of(dtype) + 1);
      view = {foreign.data(), count, dtype};
    }
  }
};

void check_allreduce(Communicator& comm, DType dtype, ReduceOp op,
                     int64_t count, bool in_heap, bool in_place,
                     std::string_view algorithm) {
  Buffers in(in_heap, count, dtype);
  Buffers out(in_heap, count, dtype);
  for (int64_t i = 0; i < count; ++i)
    store(dtype, in.view.data, i, input(dtype, comm.rank(), i));
  const CallOptions options{.op = op, .algorithm = algorithm};
  const View result = in_place ? in.view : out.view;
  const Status status = in_place ? comm.allreduce(in.view, options)
                                 : comm.allreduce(in.view, out.view, options);
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (int64_t i = 0; i < count; ++i) {
    // Of long vectors, the ends and some elements of every cache line group.
    if (i >= 1000 && i < count - 1000 && i % 997 > 3) continue;
    const double want = wrapped(dtype, expected(dtype, op, comm.size(), i));
    ASSERT_NEAR(load(dtype, result.data, i), want, tolerance(dtype, op, want))
        << name_of(dtype) << " " << name_of(op) << " count " << count
        << " element " << i << " rank " << comm.rank() << " of " << comm.size()
        << " by " << algorithm << (in_place ? " in place" : "")
        << (in_heap ? " mapped" : " foreign");
    if (in_place) continue;
    ASSERT_EQ(load(dtype, in.view.data, i), input(dtype, comm.rank(), i))
        << "the input changed";
  }
}

std::vector<std::string> algorithms_for(const std::string& transport) {
  std::vector<std::string> names{"auto"};
  for (const AlgorithmEntry& entry : allreduce_algorithms()) {
    const bool needs_memory = entry.id == Algorithm::kDirect;
    const bool needs_hosts = entry.id == Algorithm::kHierarchical;
    if (needs_hosts || (needs_memory && transport == "tcp")) continue;
    names.emplace_back(entry.name);
  }
  return names;
}

class Conformance
    : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  std::string transport() const { return std::get<0>(GetParam()); }
  int n() const { return std::get<1>(GetParam()); }
};

TEST_P(Conformance, AllreduceEveryTypeAndOperator) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    for (const std::string& algorithm : algorithms_for(transport()))
      for (DType dtype : kAllTypes)
        for (ReduceOp op : kAllOps) {
          if (!check_reduce(op, dtype).ok()) continue;
          for (int64_t count : {0, 1, n() - 1, n(), n() + 1, 129})
            check_allreduce(comm, dtype, op, count, count % 2 == 0,
                            count % 3 == 0, algorithm);
          if (testing::Test::HasFatalFailure()) return;
        }
  });
}

TEST_P(Conformance, AllreduceManySegments) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    for (const std::string& algorithm : algorithms_for(transport()))
      for (bool in_heap : {true, false})
        for (bool in_place : {true, false}) {
          // Several blocks per chunk, several stages, and a ragged end.
          check_allreduce(comm, DType::kF32, ReduceOp::kSum, 1'200'007, in_heap,
                          in_place, algorithm);
          if (testing::Test::HasFatalFailure()) return;
        }
  });
}

TEST_P(Conformance, ReduceAndReduceScatterEveryTypeAndOperator) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    for (DType dtype : kAllTypes)
      for (ReduceOp op : kAllOps) {
        if (!check_reduce(op, dtype).ok()) continue;
        for (int64_t count : {0, 1, n(), n() + 1, 40}) {
          const int64_t all = count * comm.size();
          Buffers in(count % 2 == 0, all, dtype);
          Buffers out(count % 2 == 0, all, dtype);
          for (int64_t i = 0; i < all; ++i)
            store(dtype, in.view.data, i, input(dtype, comm.rank(), i));
          auto check = [&](const char* what, int64_t elements, int64_t offset) {
            for (int64_t i = 0; i < elements; ++i) {
              const double want =
                  wrapped(dtype, expected(dtype, op, comm.size(), offset + i));
              ASSERT_NEAR(load(dtype, out.view.data, i), want,
                          tolerance(dtype, op, want))
                  << what << " " << name_of(dtype) << " " << name_of(op)
                  << " element " << i << " of " << elements;
            }
          };
          const int root = static_cast<int>(count % comm.size());
          comm.reduce(in.view, out.view, {.op = op, .root = root}).value();
          if (comm.rank() == root) check("reduce", all, 0);
          comm.reduce_scatter(in.view, View(out.view.data, count, dtype),
                              {.op = op})
              .value();
          check("reduce_scatter", count, comm.rank() * count);
        }
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

// What is exchanged below: element i of rank r's block for rank d.
int32_t mark(int r, int d, int64_t i) {
  return static_cast<int32_t>(r * 1'000'000 + d * 10'000 + i % 9973);
}

TEST_P(Conformance, OtherCollectives) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    const int size = comm.size();
    const int rank = comm.rank();
    for (bool in_heap : {true, false})
      for (int64_t count : {0, 1, 5, 40'000, 300'000}) {
        SCOPED_TRACE(
            fmt::format("count {} rank {} heap {}", count, rank, in_heap));
        for (int root : {0, size - 1}) {
          Buffers x(in_heap, count, DType::kI32);
          auto* data = static_cast<int32_t*>(x.view.data);
          for (int64_t i = 0; i < count; ++i) data[i] = mark(rank, 0, i);
          comm.broadcast(x.view, {.root = root}).value();
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(data[i], mark(root, 0, i)) << "broadcast " << i;

          Buffers in(in_heap, count, DType::kI32);
          Buffers out(in_heap, count, DType::kI32);
          auto* from = static_cast<int32_t*>(in.view.data);
          auto* to = static_cast<int32_t*>(out.view.data);
          for (int64_t i = 0; i < count; ++i) {
            from[i] = value(rank, i);
            to[i] = -1;
          }
          comm.reduce(in.view, out.view, {.root = root}).value();
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(from[i], value(rank, i)) << "reduce changed its input";
            ASSERT_EQ(to[i], rank == root ? expected(DType::kI32,
                                                     ReduceOp::kSum, size, i)
                                          : -1)
                << "reduce " << i;
          }

          Buffers all(in_heap, count * size, DType::kI32);
          auto* whole = static_cast<int32_t*>(all.view.data);
          for (int64_t i = 0; i < count; ++i) from[i] = mark(rank, 1, i);
          comm.gather(in.view, all.view, {.root = root}).value();
          for (int r = 0; rank == root && r < size; ++r)
            for (int64_t i = 0; i < count; ++i)
              ASSERT_EQ(whole[r * count + i], mark(r, 1, i)) << "gather";
          for (int r = 0; r < size; ++r)
            for (int64_t i = 0; i < count; ++i)
              whole[r * count + i] = mark(rank, r, i);
          comm.scatter(all.view, out.view, {.root = root}).value();
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(to[i], mark(root, rank, i)) << "scatter";
        }

        Buffers in(in_heap, count, DType::kI32);
        Buffers all(in_heap, count * size, DType::kI32);
        Buffers other(in_heap, count * size, DType::kI32);
        auto* from = static_cast<int32_t*>(in.view.data);
        auto* whole = static_cast<int32_t*>(all.view.data);
        auto* second = static_cast<int32_t*>(other.view.data);
        for (int64_t i = 0; i < count; ++i) from[i] = mark(rank, 2, i);
        comm.allgather(in.view, all.view).value();
        for (int r = 0; r < size; ++r)
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(whole[r * count + i], mark(r, 2, i)) << "allgather";

        // In place: the input lies where it belongs.
        for (int64_t i = 0; i < count * size; ++i) whole[i] = -1;
        for (int64_t i = 0; i < count; ++i)
          whole[rank * count + i] = mark(rank, 3, i);
        comm.allgather(ConstView(whole + rank * count, count, DType::kI32),
                       all.view)
            .value();
        for (int r = 0; r < size; ++r)
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(whole[r * count + i], mark(r, 3, i)) << "in place";

        for (int r = 0; r < size; ++r)
          for (int64_t i = 0; i < count; ++i)
            whole[r * count + i] = value(rank, r * count + i);
        comm.reduce_scatter(all.view, in.view).value();
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(from[i], expected(DType::kI32, ReduceOp::kSum, size,
                                      rank * count + i))
              << "reduce_scatter";

        for (int r = 0; r < size; ++r)
          for (int64_t i = 0; i < count; ++i)
            whole[r * count + i] = mark(rank, r, i);
        comm.all_to_all(all.view, other.view).value();
        for (int r = 0; r < size; ++r)
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(second[r * count + i], mark(r, rank, i)) << "all_to_all";
        comm.barrier().value();
      }
  });
}

TEST_P(Conformance, UnevenCounts) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    const int size = comm.size();
    const int rank = comm.rank();
    for (int64_t unit : {0, 3, 30'000}) {
      std::vector<int64_t> counts;
      for (int r = 0; r < size; ++r) counts.push_back(unit * (r % 3));
      const int64_t total =
          std::accumulate(counts.begin(), counts.end(), int64_t{0});
      std::vector<int32_t> mine(
          static_cast<size_t>(counts[static_cast<size_t>(rank)]));
      for (size_t i = 0; i < mine.size(); ++i)
        mine[i] = mark(rank, 4, static_cast<int64_t>(i));
      std::vector<int32_t> all(static_cast<size_t>(total));
      comm.allgatherv(mine, all, counts).value();
      size_t at = 0;
      for (int r = 0; r < size; ++r)
        for (int64_t i = 0; i < counts[static_cast<size_t>(r)]; ++i)
          ASSERT_EQ(all[at++], mark(r, 4, i));

      // Rank r sends unit * ((r + d) % 3) elements to d.
      auto share = [&](int from, int to) { return unit * ((from + to) % 3); };
      std::vector<int64_t> send_counts;
      std::vector<int64_t> recv_counts;
      std::vector<int32_t> out;
      for (int d = 0; d < size; ++d) {
        send_counts.push_back(share(rank, d));
        recv_counts.push_back(share(d, rank));
        for (int64_t i = 0; i < share(rank, d); ++i)
          out.push_back(mark(rank, d, i));
      }
      std::vector<int32_t> got(static_cast<size_t>(
          std::accumulate(recv_counts.begin(), recv_counts.end(), int64_t{0})));
      comm.all_to_allv(out, send_counts, got, recv_counts).value();
      at = 0;
      for (int s = 0; s < size; ++s)
        for (int64_t i = 0; i < share(s, rank); ++i)
          ASSERT_EQ(got[at++], mark(s, rank, i));
    }
  });
}

// Blocks of elements of any type as bytes: block `d` of rank r.
class Bytes {
 public:
  explicit Bytes(DType dtype) : dtype_(dtype), size_(size_of(dtype)) {}

  void fill(void* data, int64_t at, int64_t count, int r, int d) const {
    auto* bytes = static_cast<uint8_t*>(data) + offset(at);
    for (size_t i = 0; i < offset(count); ++i) bytes[i] = byte(r, d, i);
  }
  void check(const void* data, int64_t at, int64_t count, int r, int d,
             const char* what) const {
    const auto* bytes = static_cast<const uint8_t*>(data) + offset(at);
    for (size_t i = 0; i < offset(count); ++i)
      ASSERT_EQ(bytes[i], byte(r, d, i))
          << what << " " << name_of(dtype_) << " byte " << i << " of block "
          << d << " of rank " << r;
  }

 private:
  size_t offset(int64_t elements) const {
    return static_cast<size_t>(elements) * size_;
  }
  uint8_t byte(int r, int d, size_t i) const {
    const size_t mix =
        31 * static_cast<size_t>(r) + 17 * static_cast<size_t>(d);
    return static_cast<uint8_t>(dtype_ == DType::kBool ? (mix + i / 3) % 2
                                                       : (mix + i) % 251);
  }

  DType dtype_;
  size_t size_;
};

// 3000 elements are a short message of the small types and a long one of f64.
TEST_P(Conformance, OtherCollectivesEveryType) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    const int size = comm.size();
    const int rank = comm.rank();
    for (DType dtype : kAllTypes)
      for (int64_t count : {0, 1, 3000}) {
        const Bytes bytes(dtype);
        const int root = static_cast<int>(count + 1) % size;
        const bool in_heap = count % 2 == 0;
        Buffers one(in_heap, count, dtype);
        Buffers all(in_heap, count * size, dtype);
        Buffers other(in_heap, count * size, dtype);
        void* mine = one.view.data;
        void* whole = all.view.data;

        bytes.fill(mine, 0, count, rank, 0);
        comm.broadcast(one.view, {.root = root}).value();
        bytes.check(mine, 0, count, root, 0, "broadcast");

        bytes.fill(mine, 0, count, rank, 1);
        comm.gather(one.view, all.view, {.root = root}).value();
        for (int r = 0; rank == root && r < size; ++r)
          bytes.check(whole, r * count, count, r, 1, "gather");

        for (int r = 0; r < size; ++r)
          bytes.fill(whole, r * count, count, rank, r);
        comm.scatter(all.view, one.view, {.root = root}).value();
        bytes.check(mine, 0, count, root, rank, "scatter");

        comm.all_to_all(all.view, other.view).value();
        for (int r = 0; r < size; ++r)
          bytes.check(other.view.data, r * count, count, r, rank, "all_to_all");

        bytes.fill(mine, 0, count, rank, 2);
        comm.allgather(one.view, all.view).value();
        for (int r = 0; r < size; ++r)
          bytes.check(whole, r * count, count, r, 2, "allgather");
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

TEST_P(Conformance, UnevenCountsEveryType) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    const int size = comm.size();
    const int rank = comm.rank();
    for (DType dtype : kAllTypes) {
      constexpr int64_t kUnit = 1500;
      const Bytes bytes(dtype);
      auto share = [](int from, int to) { return kUnit * ((from + to) % 3); };
      std::vector<int64_t> counts;  // what everybody gives to all
      std::vector<int64_t> traded;  // both ways with each
      for (int r = 0; r < size; ++r) {
        counts.push_back(share(r, 0));
        traded.push_back(share(rank, r));
      }
      auto sum = [](const std::vector<int64_t>& c) {
        return std::accumulate(c.begin(), c.end(), int64_t{0});
      };

      Buffers mine(true, share(rank, 0), dtype);
      Buffers all(true, sum(counts), dtype);
      bytes.fill(mine.view.data, 0, mine.view.count, rank, 3);
      comm.allgatherv(mine.view, all.view, counts).value();
      int64_t at = 0;
      for (int r = 0; r < size; at += share(r++, 0))
        bytes.check(all.view.data, at, share(r, 0), r, 3, "allgatherv");

      Buffers out(true, sum(traded), dtype);
      Buffers got(true, sum(traded), dtype);
      at = 0;
      for (int r = 0; r < size; at += share(rank, r++))
        bytes.fill(out.view.data, at, share(rank, r), rank, r);
      comm.all_to_allv(out.view, traded, got.view, traded).value();
      at = 0;
      for (int r = 0; r < size; at += share(rank, r++))
        bytes.check(got.view.data, at, share(r, rank), r, rank, "all_to_allv");
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST_P(Conformance, MessagesBothWaysAtOnce) {
  if (n() == 1) return;  // nobody to send to: CommunicatorTest has the error
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (int64_t count : {0, 1, 1000, 700'000}) {
      std::vector<int32_t> mine(static_cast<size_t>(count));
      std::vector<int32_t> theirs(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i)
        mine[static_cast<size_t>(i)] = mark(comm.rank(), 5, i);
      comm.sendrecv(mine, next, theirs, previous).value();
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(theirs[static_cast<size_t>(i)], mark(previous, 5, i));
      comm.barrier().value();
    }
  });
}

TEST_P(Conformance, AsynchronousGroupedAndUserDefined) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    std::vector<std::vector<float>> tensors;
    std::vector<Work> works;
    for (int k = 0; k < 5; ++k) {
      tensors.emplace_back(static_cast<size_t>(1) << (3 * k),
                           static_cast<float>(comm.rank() + k));
      works.push_back(comm.allreduce_async(std::span(tensors.back())));
    }
    const auto n_f = static_cast<float>(comm.size());
    const float ranks = n_f * (n_f - 1) / 2;
    for (int k = 0; k < 5; ++k) {
      works[static_cast<size_t>(k)].wait().value();
      for (float x : tensors[static_cast<size_t>(k)])
        ASSERT_EQ(x, ranks + static_cast<float>(k) * n_f);
    }
    std::vector<View> views;
    for (auto& tensor : tensors) {
      std::fill(tensor.begin(), tensor.end(), 1.0f);
      views.emplace_back(tensor);
    }
    comm.allreduce(views).value();
    for (auto& tensor : tensors)
      for (float x : tensor) ASSERT_EQ(x, n_f);

    for (size_t count : {size_t{3}, size_t{200'000}}) {
      std::vector<double> x(count, comm.rank() + 1.0);
      const CallOptions largest{
          .op = ReduceOp::kUser,
          .user = [](void* acc, const void* in, int64_t c, DType) {
            for (int64_t i = 0; i < c; ++i) {
              double& a = static_cast<double*>(acc)[i];
              a = std::max(a, static_cast<const double*>(in)[i]);
            }
          }};
      comm.allreduce(x, largest).value();
      for (double v : x) ASSERT_EQ(v, comm.size());
    }
  });
}

TEST_P(Conformance, Split) {
  spawn_ranks(transport(), n(), [&](Communicator& comm) {
    auto half = comm.split(comm.rank() % 2, -comm.rank());
    ASSERT_TRUE(half.ok()) << half.status().to_string();
    std::vector<float> x{1.0f};
    half->allreduce(x).value();
    EXPECT_EQ(x[0], static_cast<float>(half->size()));
    // Ordered by key: the highest rank comes first.
    const int highest = comm.size() - 1 - (comm.size() - 1 - comm.rank()) % 2;
    EXPECT_EQ(half->rank(), (highest - comm.rank()) / 2);
    auto none = comm.split(-1);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->valid());
    comm.barrier().value();
  });
}

std::string parameter_name(
    const testing::TestParamInfo<Conformance::ParamType>& info) {
  return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Threads, Conformance,
                         testing::Combine(testing::Values("inproc", "shm",
                                                          "tcp"),
                                          testing::Range(1, 10)),
                         parameter_name);

}  // namespace
}  // namespace rondo
