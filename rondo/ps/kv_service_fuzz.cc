// Calls of workers to a parameter server, in any order and with any content, by
// links that come and go: each call is answered once.
#include <fuzzer/FuzzedDataProvider.h>

#include "rondo/ps/fuzz_calls.h"
#include "rondo/ps/kv_service.h"

using namespace rondo;

constexpr uint64_t kLinks = 4;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  FuzzedDataProvider in(data, bytes);
  const auto service = KvService::open(fuzz_options(in)).value();
  int asked = 0, answered = 0;
  const auto serve = [&](uint64_t link, LinkCall call) {
    ++asked;
    service->serve(link, std::move(call),
                   [&](const Result<LinkAnswer>&) { ++answered; });
  };
  while (in.remaining_bytes() > 0) {
    const uint64_t link = in.ConsumeIntegralInRange<uint64_t>(1, kLinks);
    const int what = in.ConsumeIntegralInRange(0, 20);
    if (what == 0)
      service->gone(link);
    else if (what == 1)
      service->look_after();
    else if (LinkCall call = fuzz_call(in); fits_memory(call))
      serve(link, std::move(call));
  }
  // What waits for somebody who never comes is told that there is no use, by
  // one whose place nobody holds any more.
  for (uint64_t link = 1; link <= kLinks; ++link) service->gone(link);
  const uint64_t last = kLinks + 1;
  serve(last,
        {kv::kHello, kv::Hello{kFuzzWorkers, kFuzzWorkers + 1}.encode(), {}});
  serve(last, {kv::kAbort, wire::Writer().text("the end").take(), {}});
  if (asked != answered) std::abort();
  return 0;
}
