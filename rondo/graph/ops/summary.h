// Summaries for TensorBoard, and what a program prints and asserts.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {}  // namespace rondo
