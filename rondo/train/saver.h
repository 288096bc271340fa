// Saver: variables in a file, and back.
#pragma once

namespace rondo {}  // namespace rondo
