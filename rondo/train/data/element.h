// What data sets are made of.
#pragma once

#include <optional>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/graph/node.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// An element of a data set: its components. Their memory may be the data set's
// own, so who wants to change them takes a clone().
using DataElement = std::vector<Tensor>;
// An element, or none at the end.
using NextElement = Result<std::optional<DataElement>>;
// Element types and shapes of the components, as far as known.
using DataTypes = std::vector<TensorType>;

}  // namespace rondo
