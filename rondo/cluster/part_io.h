// The parts of a step as bytes in a tensor, as they travel to a worker.
#pragma once

#include <string>
#include <vector>

#include "rondo/runtime/worker.h"

namespace rondo {

// A tensor of u8 with these bytes, and the bytes of one.
Tensor bytes_tensor(std::string_view bytes);
Result<std::string_view> bytes_of(const Tensor& tensor);

// Throws as to_graph_def does.
Tensor parts_to_tensor(const std::vector<Worker::Part>& parts);
Result<std::vector<Worker::Part>> parts_from_tensor(const Tensor& tensor);

}  // namespace rondo
