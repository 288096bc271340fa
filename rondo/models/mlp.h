// A multi-layer perceptron.
#pragma once

namespace rondo {}  // namespace rondo
