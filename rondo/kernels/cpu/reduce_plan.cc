#include "rondo/kernels/cpu/reduce_plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

#include "rondo/kernels/cpu/elementwise_loops.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements worth a thread of their own

// Some of a tensor's axes, outermost first, and where their elements lie.
struct Axes {
  int count = 0;
  std::array<int64_t, kMaxReduceAxes> extent{};
  std::array<int64_t, kMaxReduceAxes> stride{};

  void push(int64_t new_extent, int64_t new_stride) {
    extent[static_cast<size_t>(count)] = new_extent;
    stride[static_cast<size_t>(count)] = new_stride;
    ++count;
  }
  int64_t last_extent() const { return extent[static_cast<size_t>(count - 1)]; }
  int64_t last_stride() const { return stride[static_cast<size_t>(count - 1)]; }
  int64_t size() const {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= extent[static_cast<size_t>(i)];
    return product;
  }
  // Where the element of this number, counted over these axes, lies.
  int64_t offset(int64_t number) const {
    int64_t at = 0;
    for (int i = count - 1; i >= 0; --i) {
      const auto k = static_cast<size_t>(i);
      at += number % extent[k] * stride[k];
      number /= extent[k];
    }
    return at;
  }
};

// Neighbouring axes that are both kept or both reduced are one. The innermost
// of all is reduced (a sum over rows) or kept (a sum over columns).
struct Plan {
  Axes kept;
  Axes reduced;
  bool rows = true;
};

Plan plan_of(const Shape& shape, AxisSet set) {
  Plan plan;
  std::array<int64_t, kMaxReduceAxes> extent{};
  std::array<bool, kMaxReduceAxes> reduced{};
  int axes = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const auto last = static_cast<size_t>(axes - 1);
    if (axes > 0 && reduced[last] == has_axis(set, i)) {
      extent[last] *= shape[i];
      continue;
    }
    extent[static_cast<size_t>(axes)] = shape[i];
    reduced[static_cast<size_t>(axes)] = has_axis(set, i);
    ++axes;
  }
  int64_t stride = shape.count();
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    stride /= extent[i];
    (reduced[i] ? plan.reduced : plan.kept).push(extent[i], stride);
    plan.rows = reduced[i];
  }
  return plan;
}

// A reduction at work. A unit is a stretch of x that a core's loop takes at
// once, a piece the units that one thread adds up to a total; pieces of one
// result are combined in the order of their numbers.
class Work {
 public:
  Work(const ReduceArgs& args, const Tensor& x, Tensor& out, KernelContext& c)
      : args_(args),
        core_(reduce_core(args.op, x.dtype())),
        x_(static_cast<const char*>(x.data())),
        out_(static_cast<char*>(out.data())),
        size_(static_cast<int64_t>(size_of(x.dtype()))),
        c_(c) {}

  // Many rows of n elements to one total each.
  void rows(const Plan& plan) {
    Axes outer = plan.reduced;
    int64_t n = 1;
    if (outer.count > 0) {
      n = outer.last_extent();
      --outer.count;
    }
    const int64_t results = plan.kept.size();
    const int64_t chunk = std::min(n, kGrain);
    const int64_t chunks = (n + chunk - 1) / chunk;
    const int64_t units = outer.size() * chunks;
    const int64_t share =
        results >= 64 ? units
                      : std::min(units, std::max<int64_t>(1, kGrain / chunk));
    const int64_t pieces = (units + share - 1) / share;
    Tensor totals;
    if (pieces > 1) totals = c_.scratch(DType::kI64, {results * pieces});
    run(results * pieces, share * chunk, [&](int64_t item) {
      const int64_t result = item / pieces;
      const int64_t first = item % pieces * share;
      const int64_t base = plan.kept.offset(result);
      Total total;
      core_.clear(&total, 1);
      for (int64_t u = first; u < std::min(units, first + share); ++u) {
        const int64_t start = u % chunks * chunk;
        core_.row(x_at(base + outer.offset(u / chunks) + start),
                  std::min(chunk, n - start), &total);
      }
      if (pieces == 1)
        finish(&total, 1, result);
      else
        std::memcpy(total_at(totals, item), &total, sizeof(total));
    });
    if (pieces == 1) return;
    for (int64_t result = 0; result < results; ++result) {
      Total* first = total_at(totals, result * pieces);
      for (int64_t p = 1; p < pieces; ++p) core_.combine(first, first + p, 1);
      finish(first, 1, result);
    }
  }

  // Rows of n elements, all of which are results: to n totals.
  void columns(const Plan& plan) {
    Axes kept = plan.kept;
    const int64_t n = kept.last_extent();
    --kept.count;
    Axes outer = plan.reduced;
    int64_t run_rows = 1;
    int64_t stride = 0;
    if (outer.count > 0) {
      run_rows = outer.last_extent();
      stride = outer.last_stride();
      --outer.count;
    }
    const int64_t block = std::min(n, kMaxColumns);
    const int64_t blocks = (n + block - 1) / block;
    const int64_t groups = kept.size();
    const int64_t chunk =
        std::min(run_rows, std::max<int64_t>(128, kGrain / block));
    const int64_t chunks = (run_rows + chunk - 1) / chunk;
    const int64_t units = outer.size() * chunks;
    constexpr int64_t kMaxPieces = 64;
    const int64_t share =
        groups * blocks >= 8 ? units : (units + kMaxPieces - 1) / kMaxPieces;
    const int64_t pieces = (units + share - 1) / share;
    const int64_t results = groups * n;
    Tensor totals;
    if (pieces > 1) totals = c_.scratch(DType::kI64, {results * pieces});
    run(groups * blocks * pieces, share * chunk * block, [&](int64_t item) {
      const int64_t first = item % pieces * share;
      const int64_t group = item / pieces / blocks;
      const int64_t column = item / pieces % blocks * block;
      const int64_t width = std::min(block, n - column);
      const int64_t base = kept.offset(group) + column;
      Total sums[kMaxColumns];
      core_.clear(sums, width);
      for (int64_t u = first; u < std::min(units, first + share); ++u) {
        const int64_t start = u % chunks * chunk;
        core_.columns(x_at(base + outer.offset(u / chunks) + start * stride),
                      std::min(chunk, run_rows - start), stride, width, sums);
      }
      const int64_t result = group * n + column;
      if (pieces == 1)
        finish(sums, width, result);
      else
        std::memcpy(total_at(totals, item % pieces * results + result), sums,
                    static_cast<size_t>(width) * sizeof(Total));
    });
    if (pieces == 1) return;
    for (int64_t p = 1; p < pieces; ++p)
      core_.combine(total_at(totals, 0), total_at(totals, p * results),
                    results);
    finish(total_at(totals, 0), results, 0);
  }

  // What no elements give.
  void nothing(int64_t results) {
    Total total;
    core_.clear(&total, 1);
    for (int64_t i = 0; i < results; ++i) finish(&total, 1, i);
  }

 private:
  // A double or an int64_t, as the core has it.
  struct alignas(8) Total {
    std::byte bytes[8];
  };

  template <class Item>
  void run(int64_t items, int64_t elements_each, const Item& item) {
    const int64_t grain =
        std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements_each));
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) item(i);
    };
    if (items <= grain)
      body(0, items);
    else
      parallel_for(items, grain, std::cref(body));
  }
  const char* x_at(int64_t element) const { return x_ + element * size_; }
  static Total* total_at(Tensor& totals, int64_t i) {
    return static_cast<Total*>(totals.data()) + i;
  }
  void finish(const Total* totals, int64_t n, int64_t result) {
    core_.finish(totals, n, args_.scale, args_.divisor, out_ + result * size_);
  }

  const ReduceArgs& args_;
  const ReduceCore core_;
  const char* const x_;
  char* const out_;
  const int64_t size_;
  KernelContext& c_;
};

}  // namespace

Result<AxisSet> axis_set(const Ints& axes, int rank) {
  if (rank > kMaxReduceAxes)
    return error(Code::kInvalidArgument,
                 "a tensor has {} axes; at most {} can be reduced", rank,
                 kMaxReduceAxes);
  if (axes.empty()) return (AxisSet{1} << rank) - 1;
  AxisSet set = 0;
  for (const int64_t axis : axes) {
    RONDO_ASSIGN_OR_RETURN(const int i, resolve_axis(axis, rank));
    set |= AxisSet{1} << i;
  }
  return set;
}

Shape reduced_shape(const Shape& shape, AxisSet reduced, bool keep_dims) {
  std::array<int64_t, kMaxReduceAxes> extents{};
  size_t rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!has_axis(reduced, i))
      extents[rank++] = shape[i];
    else if (keep_dims)
      extents[rank++] = 1;
  }
  return Shape(std::span<const int64_t>(extents.data(), rank));
}

int64_t reduced_count(const Shape& shape, AxisSet reduced) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i)
    if (has_axis(reduced, i)) count *= shape[i];
  return count;
}

void reduce_tensor(const ReduceArgs& args, const Tensor& x, Tensor& out,
                   KernelContext& c) {
  if (x.dtype() == DType::kF16 || x.dtype() == DType::kBF16) {
    Tensor wide = c.scratch(DType::kF32, x.shape());
    Tensor wide_out = c.scratch(DType::kF32, out.shape());
    widen(x.dtype(), x.data(), wide.span<float>().data(), x.count());
    reduce_tensor(args, wide, wide_out, c);
    narrow(out.dtype(), wide_out.span<float>().data(), out.data(), out.count());
    return;
  }
  Work work(args, x, out, c);
  if (x.count() == 0) return work.nothing(out.count());
  const Plan plan = plan_of(x.shape(), args.reduced);
  if (plan.rows)
    work.rows(plan);
  else
    work.columns(plan);
}

}  // namespace rondo
