// Parts of a graph as a master sends them to a worker.
#include "rondo/cluster/part_io.h"

using namespace rondo;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const auto parts = parts_from_tensor(bytes_tensor(text));
  // What was understood can be sent on.
  if (parts.ok()) (void)parts_to_tensor(*parts);
  return 0;
}
