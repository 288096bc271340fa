// EventWriter: TensorBoard's event files.
#pragma once

namespace rondo {}  // namespace rondo
