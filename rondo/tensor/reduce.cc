#include "rondo/tensor/reduce.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/tensor/reduce.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/tensor/reduce_job.h"
#include "rondo/tensor/reduce_lanes-inl.h"
#include "rondo/tensor/reduce_loops-inl.h"
#include "rondo/tensor/reduce_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

// Loops with the number of sources fixed exist for the sums of floating-point
// numbers only: they are what training runs, and every loop costs code.
template <class L, bool kScale>
void float_sum(const ReduceJob& job) {
  switch (job.ins) {
    case 2: return Loop<L, Sum, kScale, 2>::run(job);
    case 3: return Loop<L, Sum, kScale, 3>::run(job);
    case 4: return Loop<L, Sum, kScale, 4>::run(job);
    default: return Loop<L, Sum, kScale, 0>::run(job);
  }
}

template <class L>
void float_job(ReduceOp op, const ReduceJob& job) {
  switch (op) {
    case ReduceOp::kSum: return float_sum<L, false>(job);
    case ReduceOp::kAvg: return float_sum<L, true>(job);
    case ReduceOp::kProd: return Loop<L, Prod, false, 0>::run(job);
    case ReduceOp::kMin: return Loop<L, Min, false, 0>::run(job);
    case ReduceOp::kMax: return Loop<L, Max, false, 0>::run(job);
    default: return;
  }
}

// Bitwise operators do not care where an element ends, so bytes serve for all.
template <class T>
void bitwise_job(ReduceOp op, ReduceJob job) {
  job.begin *= sizeof(T);
  job.end *= sizeof(T);
  using L = Plain<uint8_t>;
  switch (op) {
    case ReduceOp::kBand: return Loop<L, Band, false, 0>::run(job);
    case ReduceOp::kBor: return Loop<L, Bor, false, 0>::run(job);
    default: return Loop<L, Bxor, false, 0>::run(job);
  }
}

// avg adds here; the division is a pass of its own.
template <class T>
void integer_job(ReduceOp op, const ReduceJob& job) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg: return Loop<Plain<U>, Sum, false, 0>::run(job);
    case ReduceOp::kProd: return Loop<Plain<U>, Prod, false, 0>::run(job);
    case ReduceOp::kMin: return Loop<Plain<T>, Min, false, 0>::run(job);
    case ReduceOp::kMax: return Loop<Plain<T>, Max, false, 0>::run(job);
    default: return bitwise_job<T>(op, job);
  }
}

void bool_job(ReduceOp op, const ReduceJob& job) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMax:
    case ReduceOp::kBor: return Loop<Bool, Bor, false, 0>::run(job);
    case ReduceOp::kProd:
    case ReduceOp::kMin:
    case ReduceOp::kBand: return Loop<Bool, Band, false, 0>::run(job);
    default: return Loop<Bool, Bxor, false, 0>::run(job);
  }
}

void run_job(ReduceOp op, DType dtype, const ReduceJob& job) {
  switch (dtype) {
    case DType::kF64: return float_job<Plain<double>>(op, job);
    case DType::kF32: return float_job<Plain<float>>(op, job);
    case DType::kF16: return float_job<HalfLanes>(op, job);
    case DType::kBF16: return float_job<BFloat16Lanes>(op, job);
    case DType::kI64: return integer_job<int64_t>(op, job);
    case DType::kI32: return integer_job<int32_t>(op, job);
    case DType::kI16: return integer_job<int16_t>(op, job);
    case DType::kI8: return integer_job<int8_t>(op, job);
    case DType::kU8: return integer_job<uint8_t>(op, job);
    case DType::kBool: return bool_job(op, job);
  }
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

namespace rondo {
namespace {

HWY_EXPORT(run_job);

bool is_integer(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kI16 ||
         dtype == DType::kI8 || dtype == DType::kU8;
}

// memcpy, because a caller's array may be unaligned.
template <class T>
void divide(void* data, size_t begin, size_t end, int ranks) {
  char* bytes = static_cast<char*>(data);
  for (size_t i = begin; i < end; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    value = static_cast<T>(value / ranks);
    std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  }
}

void divide(DType dtype, void* data, size_t begin, size_t end, int ranks) {
  switch (dtype) {
    case DType::kI64: return divide<int64_t>(data, begin, end, ranks);
    case DType::kI32: return divide<int32_t>(data, begin, end, ranks);
    case DType::kI16: return divide<int16_t>(data, begin, end, ranks);
    case DType::kI8: return divide<int8_t>(data, begin, end, ranks);
    case DType::kU8: return divide<uint8_t>(data, begin, end, ranks);
    default: return;
  }
}

// Adds, then divides, a piece at a time while it is in the cache. Not streamed:
// the result is read again.
void integer_avg(DType dtype, ReduceJob job, size_t count, int ranks) {
  const size_t piece = 8192 / size_of(dtype);
  job.streaming = false;
  for (job.begin = 0; job.begin < count; job.begin = job.end) {
    job.end = std::min(count, job.begin + piece);
    HWY_DYNAMIC_DISPATCH(run_job)(ReduceOp::kSum, dtype, job);
    for (size_t j = 0; j < job.outs; ++j)
      divide(dtype, job.out[j], job.begin, job.end, ranks);
  }
}

}  // namespace

void reduce_many(ReduceOp op, DType dtype, std::span<void* const> out,
                 std::span<const void* const> in, size_t count, int ranks,
                 bool streaming) {
  ReduceJob job{.out = out.data(),
                .in = in.data(),
                .outs = out.size(),
                .ins = in.size(),
                .begin = 0,
                .end = count,
                .scale32 = 1,
                .scale64 = 1,
                .streaming = streaming};
  if (op == ReduceOp::kAvg) {
    if (is_integer(dtype)) return integer_avg(dtype, job, count, ranks);
    job.scale32 = 1.0f / static_cast<float>(ranks);
    job.scale64 = 1.0 / ranks;
  }
  HWY_DYNAMIC_DISPATCH(run_job)(op, dtype, job);
  if (streaming) hwy::FlushStream();
}

void reduce(ReduceOp op, DType dtype, void* acc, const void* in, size_t count) {
  void* const out[] = {acc};
  const void* const ins[] = {acc, in};
  if (op == ReduceOp::kAvg) op = ReduceOp::kSum;
  reduce_many(op, dtype, out, ins, count, 1, false);
}

void finish_avg(DType dtype, void* data, size_t count, int ranks) {
  if (is_integer(dtype)) return divide(dtype, data, 0, count, ranks);
  void* const out[] = {data};
  const void* const in[] = {data};
  reduce_many(ReduceOp::kAvg, dtype, out, in, count, ranks, false);
}

void copy_bytes(void* to, const void* from, size_t bytes, bool streaming) {
  if (bytes == 0) return;
  if (!streaming) {
    std::memcpy(to, from, bytes);
    return;
  }
  // "or" of a single source stores what it loads.
  void* const out[] = {to};
  const void* const in[] = {from};
  reduce_many(ReduceOp::kBor, DType::kU8, out, in, bytes, 1, true);
}

}  // namespace rondo
#endif  // HWY_ONCE
