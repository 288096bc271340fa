#include "rondo/train/data/stream.h"

#include "rondo/kernels/cpu/philox.h"

namespace rondo {

DataRun DataRun::repetition(uint64_t k) const {
  if (k == 0) return *this;
  const philox::Block b = random_block({pass, k}, 0);
  return {cancellation, uint64_t{b[1]} << 32 | b[0]};
}

Status stage_fault(std::string_view stage, int64_t number,
                   const Status& status) {
  return status.with_context(
      fmt::format("Dataset.{}, element {}", stage, number));
}

Status DataStream::fault(const Status& status) {
  return stage_fault(stage_, number_++, status);
}

NextElement DataStream::next() {
  if (cancelled()) return cancel_reason();
  try {
    NextElement element = produce();
    if (element.ok() && *element) ++number_;
    return element;
  } catch (const Error& e) {
    return fault(Status(e.code(), e.what()));
  } catch (const std::exception& e) {
    return fault(Status(Code::kInternal, e.what()));
  }
}

}  // namespace rondo
