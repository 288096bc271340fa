// Calls of a worker, in any order and with any content, from two links that
// come and go.
#include <fuzzer/FuzzedDataProvider.h>

#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/worker_service.h"

using namespace rondo;

namespace {

// Compiles nothing; a step gives back what it is fed.
struct FakeWorker final : Worker {
  std::vector<std::string> devices() const override { return {}; }
  Result<int64_t> add(std::vector<Part> /*parts*/, Deadline,
                      const Cancellation&) override {
    return 1;
  }
  void remove(int64_t) override {}
  void run(StepCall call, Done done) override { done(std::move(call.feeds)); }
  void cancel(int64_t, const Status&) override {}
};

LinkCall next_call(FuzzedDataProvider& in) {
  LinkCall call;
  call.method = in.ConsumeIntegralInRange<uint32_t>(0, 20);
  wire::Writer body;
  if (in.ConsumeBool()) {
    const int numbers = in.ConsumeIntegralInRange(0, 4);
    // Small ones, so that calls meet each other's graphs and steps.
    for (int i = 0; i < numbers; ++i)
      body.number(in.ConsumeBool() ? in.ConsumeIntegralInRange(-1, 3)
                                   : in.ConsumeIntegral<int64_t>());
    if (in.ConsumeBool()) body.text(in.ConsumeRandomLengthString());
    call.body = body.take();
  } else {
    call.body = in.ConsumeRandomLengthString();
  }
  const int tensors = in.ConsumeIntegralInRange(0, 2);
  for (int i = 0; i < tensors; ++i)
    call.tensors.push_back(bytes_tensor(in.ConsumeRandomLengthString()));
  return call;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  FuzzedDataProvider in(data, bytes);
  FakeWorker worker;
  const auto steps = std::make_shared<StepTable>(
      [](const std::string&) { return true; },
      [](int64_t, const std::string&, const Rendezvous::Done& done) {
        done(error(Code::kUnavailable, "there is nobody else"));
      });
  std::atomic<int> asked = 0, answered = 0;
  {
    RunThreads threads;
    WorkerService service(
        worker, *steps, threads,
        [](const std::vector<Worker::Part>&, Deadline) { return Status(); });
    while (in.remaining_bytes() > 0) {
      const uint64_t link = in.ConsumeIntegralInRange(1, 2);
      if (in.ConsumeProbability<float>() < 0.1f) {
        service.gone(link);
        continue;
      }
      LinkCall call = next_call(in);
      LinkServer::Answer answer = [&](const Result<LinkAnswer>&) {
        ++answered;
      };
      if (service.serve(link, call, answer)) ++asked;
    }
  }
  // Who waits for a tensor that never comes.
  steps->abort_all(error(Code::kCancelled, "the end"));
  // Each call is answered once.
  if (asked != answered) std::abort();
  return 0;
}
