// Dataset: elements for training, one after another.
#pragma once

namespace rondo {}  // namespace rondo
