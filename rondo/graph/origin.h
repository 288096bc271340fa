// OriginScope: the line of the program that nodes come from which it did not
// make one by one, such as those of gradients and loops.
#pragma once

#include <string>

#include "rondo/base/export.h"

namespace rondo {

// While it lives, nodes that this thread adds to any graph without an origin
// get this one. The innermost scope that has a line counts.
class RONDO_API OriginScope {
 public:
  explicit OriginScope(std::string line);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

  // Of this thread; empty outside of all scopes.
  static const std::string& current();

 private:
  std::string before_;
};

}  // namespace rondo
