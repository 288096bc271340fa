// Rules and calls of parameter servers that fuzz targets make of arbitrary
// bytes. Most make sense, so that calls meet each other's parts.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <bit>

#include "rondo/ps/kv_messages.h"
#include "rondo/ps/kv_service.h"

namespace rondo {

// That come and go; one more ends what they have left behind.
constexpr int kFuzzWorkers = 3;

inline KvOptimizer fuzz_optimizer(FuzzedDataProvider& in) {
  switch (in.ConsumeIntegralInRange(0, 4)) {
    case 0: return KvOptimizer::gradient_descent(0.1);
    case 1: return KvOptimizer::with_momentum(0.1, 0.9, true);
    case 2: return KvOptimizer::adagrad(0.1);
    case 3: return KvOptimizer::rms_prop(0.1, 0.9, 0, true);
    default: return KvOptimizer::adam(0.1);
  }
}

inline KvServiceOptions fuzz_options(FuzzedDataProvider& in) {
  KvServiceOptions options;
  options.rules.mode = static_cast<KvMode>(in.ConsumeIntegralInRange(0, 2));
  options.rules.workers = kFuzzWorkers + 1;
  options.rules.backup = in.ConsumeIntegralInRange(0, kFuzzWorkers);
  options.rules.staleness = in.ConsumeIntegralInRange(0, 3);
  options.rules.optimizer = fuzz_optimizer(in);
  options.worker_patience = Duration::zero();
  return options;
}

// Small, mostly.
inline int64_t fuzz_number(FuzzedDataProvider& in) {
  return in.ConsumeProbability<float>() < 0.9F
             ? in.ConsumeIntegralInRange<int64_t>(-1, 6)
             : in.ConsumeIntegral<int64_t>();
}

inline Tensor fuzz_tensor(FuzzedDataProvider& in) {
  constexpr DType kTypes[] = {DType::kF32, DType::kI64, DType::kBF16,
                              DType::kF64};
  const DType dtype = in.PickValueInArray(kTypes);
  Tensor made =
      Tensor::zeros({in.ConsumeIntegralInRange<int64_t>(0, 12)}, dtype);
  if (dtype == DType::kI64)
    for (int64_t& row : made.span<int64_t>()) row = fuzz_number(in);
  return made;
}

inline kv::AddPart fuzz_part(FuzzedDataProvider& in) {
  kv::AddPart part;
  part.key.name = in.ConsumeBool() ? "w" : "e";
  if (in.ConsumeBool()) part.key.name += "2";
  part.key.dtype = in.ConsumeBool() ? DType::kF32 : DType::kBF16;
  part.key.shape = in.ConsumeBool() ? Shape{12} : Shape{4, 3};
  part.key.by_rows = in.ConsumeBool();
  if (!part.key.by_rows && in.ConsumeBool()) part.key.reduces = ReduceOp::kAvg;
  if (!part.key.reduces && in.ConsumeBool())
    part.key.optimizer = fuzz_optimizer(in);
  part.begin = in.ConsumeBool() ? 0 : 6;
  part.end = in.ConsumeBool() ? 12 : 6;
  return part;
}

inline std::string fuzz_body(FuzzedDataProvider& in, uint32_t method) {
  switch (method) {
    case kv::kHello:
      return kv::Hello{fuzz_number(in), kFuzzWorkers + 1,
                       static_cast<uint64_t>(fuzz_number(in)), "worker",
                       in.ConsumeBool()}
          .encode();
    case kv::kClaim:
    case kv::kAbort:
      return wire::Writer().text(in.ConsumeBool() ? "w" : "e").take();
    case kv::kAddPart: return fuzz_part(in).encode();
    case kv::kPush:
      return kv::Push{fuzz_number(in), fuzz_number(in),  0.1,
                      fuzz_number(in), in.ConsumeBool(), in.ConsumeBool(),
                      fuzz_number(in)}
          .encode();
    case kv::kPull:
      return kv::Pull{fuzz_number(in), fuzz_number(in), fuzz_number(in),
                      in.ConsumeBool(), fuzz_number(in)}
          .encode();
    case kv::kSet: return kv::SetPart{fuzz_number(in), {0.9F, 0.99F}}.encode();
    default: return {};
  }
}

inline LinkCall fuzz_call(FuzzedDataProvider& in) {
  LinkCall call;
  call.method = in.ConsumeIntegralInRange<uint32_t>(0, kv::kReturn + 1);
  // Nobody gives up before the end, mostly: that would be the end of all parts.
  if (call.method == kv::kAbort && in.ConsumeProbability<float>() < 0.9F)
    call.method = kv::kPush;
  call.body = in.ConsumeProbability<float>() < 0.9F
                  ? fuzz_body(in, call.method)
                  : in.ConsumeRandomLengthString();
  const int tensors = in.ConsumeIntegralInRange(0, 3);
  for (int i = 0; i < tensors; ++i) call.tensors.push_back(fuzz_tensor(in));
  return call;
}

// Workers are trusted with the memory of servers: a key of some GiB is no
// finding.
inline bool fits_memory(const kv::AddPart& part) {
  constexpr int64_t kMost = 1 << 16;
  return part.end - part.begin <= kMost;
}
inline bool fits_memory(const LinkCall& call) {
  if (call.method != kv::kAddPart) return true;
  const auto part = kv::AddPart::decode(call.body);
  return !part.ok() || fits_memory(*part);
}

}  // namespace rondo
