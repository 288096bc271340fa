#include "rondo/kernels/bucket_choice.h"

#include <fmt/format.h>

namespace rondo {
namespace {

std::string mib(int64_t bytes) {
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string ms(double seconds) {
  return fmt::format("{:.4g} ms", 1e3 * seconds);
}

}  // namespace

std::string to_text(const BucketChoice& choice) {
  const BucketChoice::Size& chosen = choice.sizes.at(choice.chosen);
  std::string text = fmt::format("buckets of up to {}, {} in a step",
                                 mib(chosen.limit), chosen.buckets);
  if (!choice.settled) return text + ", are still being tuned";
  if (choice.sizes.size() == 1) return text + ": other sizes give the same";
  if (chosen.seconds == 0) return text + ": no times were measured";
  text += fmt::format(": {} a step", ms(chosen.seconds));
  const char* before = "; with";
  for (const BucketChoice::Size& size : choice.sizes) {
    if (&size == &chosen) continue;
    text += fmt::format("{} {} {}", before, mib(size.limit), ms(size.seconds));
    before = ",";
  }
  return text;
}

}  // namespace rondo
